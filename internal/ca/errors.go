package ca

// StateError says what is wrong with the CA's files and what to do about it. Err is [fs.ErrNotExist] when there is
// no CA at all, [fs.ErrExist] when there is one already, and may be nil.
type StateError struct {
	Path    string // the file or folder at fault
	Problem string // what is wrong, lower case
	Hint    string // the next step, for a "hint:" line; may be empty
	Err     error  // the cause a caller may test for; may be nil
}

// Error names the file and the problem. The hint is left out, for whoever prints errors to print on its own line.
func (e *StateError) Error() string {
	return e.Path + ": " + e.Problem
}

// Unwrap returns the cause, which may be nil.
func (e *StateError) Unwrap() error {
	return e.Err
}
