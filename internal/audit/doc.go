// Package audit writes the decision log: one JSON object a line for each
// [proxy.Record], in the order in which the exchanges ended.
//
// A record is encoded whole and handed to the operating system in one write
// before Record returns. Nothing waits in the process, so a heed that is killed
// loses no record it has acknowledged; only Close asks the disk to have it too.
// A file is opened for appending, so what was written before is never touched.
//
// User information is never written, however malformed the URL that carries it,
// and Options.Query says what becomes of query strings.
//
// It writes and no more: reading the log is another matter, and so are rotation
// and the clock.
package audit
