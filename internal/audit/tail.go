package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// A fragment is a line that was not written to its end. It stays in the log,
// and a record after it says what it is, so that nobody can make one of a line.
type fragment struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func fragmentOf(text []byte) fragment {
	sum := sha256.Sum256(text)
	return fragment{int64(len(text)), hex.EncodeToString(sum[:])}
}

// An ending is how a log ends.
type ending struct {
	empty   bool
	midLine bool      // the last line has no newline
	torn    *fragment // and is no whole line either; nil otherwise
	at      Link      // of the last whole line; zero when no chain wrote it
}

// endOf looks how the log at path, of a given size, ends.
func endOf(path string, size int64) (e ending, err error) {
	if size == 0 {
		return ending{empty: true}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer f.Close()
	last, rest, err := lastLine(f, size)
	if err != nil {
		return e, err
	}
	whole, ended := bytes.CutSuffix(last, []byte{'\n'})
	if p, ok := parseSealed(whole, ""); ok {
		e.at, e.midLine = p.Link, !ended
		return e, nil
	}
	if ended {
		return e, nil
	}
	torn := fragmentOf(last)
	e.midLine, e.torn = true, &torn
	if before, _, err := lastLine(f, rest); err != nil {
		return e, err
	} else if p, ok := parseSealed(bytes.TrimSuffix(before, []byte{'\n'}), ""); ok {
		e.at = p.Link
	}
	return e, nil
}

// lastLine returns the last line of the first size octets of f, and what is left
// before it.
func lastLine(f io.ReaderAt, size int64) (line []byte, rest int64, err error) {
	const step = 64 << 10
	for rest = size; rest > 0; {
		n := min(step, rest)
		part := make([]byte, n, n+int64(len(line)))
		if _, err := f.ReadAt(part, rest-n); err != nil {
			return nil, 0, err
		}
		search := part
		if rest == size {
			search = part[:n-1] // the newline that ends the line
		}
		if i := bytes.LastIndexByte(search, '\n'); i >= 0 {
			return append(part[i+1:], line...), rest - n + int64(i) + 1, nil
		}
		line, rest = append(part, line...), rest-n
	}
	return line, 0, nil
}
