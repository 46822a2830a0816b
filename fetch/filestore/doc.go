// Package filestore keeps robots.txt files in one file on disk, an embedded
// bbolt database that belongs to one process at a time.
//
// What Save returned nil for survives the end of the process, however it ends.
// That it survives a loss of power rests on bbolt's fsync, and on a disk that
// does what fsync asks.
//
// A file that cannot be trusted is never fatal: it is moved aside, told of, and
// begun anew. It is checked as a whole when it is opened; each entry carries a
// checksum, and a body's name is its own. What nobody can use any more is swept
// out when the file is opened, and every hour.
package filestore
