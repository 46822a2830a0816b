// Package audit writes the decision log, and reads it again: one JSON object a
// line for each [proxy.Record], in the order in which the exchanges ended.
//
// A [Writer] has one goroutine that writes. Record encodes a record and leaves
// it to that goroutine, which hands all that has come meanwhile to the operating
// system in one write. So an exchange does not wait for the disk, unless 4 MiB
// of records do already; then it waits, and no record is lost. A heed that is
// killed loses at most what Written did not count yet; Close, rotation and Reopen
// write all that was recorded before. What a write left undone is done later. Only
// a log that cannot be written for so long that 4 MiB wait loses records, and it
// says how many. A file is opened for appending, so what was written before is
// never touched.
//
// With a chain, each line says the hash of the line before and its own, over its
// own octets, so that a [Verifier] finds each change, and each line that is
// missing; beside a file stands its head, the newest hash. Without a key anybody
// who can write the log can also make a new chain: that shows only against a head
// that is kept elsewhere.
//
// User information is never written, however malformed the URL that carries it;
// Options.Query says what becomes of query strings, and Options.Client of the
// addresses of clients.
//
// Files are put aside by size and time by the package itself: what is known to
// do that for logs in general refuses a write that is longer than a file may be,
// counts its period from the start of the process, and has no way to open the
// file anew.
package audit
