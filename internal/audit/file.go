package audit

import "os"

func regular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// endsMidLine reports whether f holds a last line without its newline, as a
// full disk or a power cut leaves one. Where that cannot be read it says yes: an
// empty line harms a reader less than two records in one.
func endsMidLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	// f is open for writing only: a log that heed may write need not be one that
	// it may read.
	r, err := os.Open(f.Name())
	if err != nil {
		return true
	}
	defer r.Close()
	var last [1]byte
	if _, err := r.ReadAt(last[:], info.Size()-1); err != nil {
		return true
	}
	return last[0] != '\n'
}
