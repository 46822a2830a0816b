package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// headSuffix is appended to the name of a log for the name of its head.
const headSuffix = ".head"

// HeadPath is where the newest place of the chain in the log at path stands.
func HeadPath(path string) string { return path + headSuffix }

// headLine has one length for all places, so that it is overwritten in place and
// never seen in part.
const headLine = `{"chain":"%s","seq":%20d,"hash":"%s"}` + "\n"

// ReadHead reads a head as a Writer keeps it. The error is fs.ErrNotExist where
// there is none, or none yet.
func ReadHead(path string) (Link, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Link{}, err
	}
	if len(data) == 0 {
		return Link{}, fmt.Errorf("%s: nothing has been written yet: %w", path, fs.ErrNotExist)
	}
	return parseHead(path, data)
}

func parseHead(path string, data []byte) (Link, error) {
	var h struct {
		Chain, Hash string
		Seq         uint64
	}
	l := Link{}
	if err := json.Unmarshal(data, &h); err != nil {
		return l, fmt.Errorf("%s: not the head of an audit log: %v", path, err)
	}
	l.Chain, l.Seq = h.Chain, h.Seq
	if len(h.Hash) != digestHex || !setDigest(&l.Hash, []byte(h.Hash)) || h.Chain == "" || h.Seq == 0 {
		return Link{}, fmt.Errorf("%s: not the head of an audit log", path)
	}
	for i := range len(h.Chain) {
		if !isIDChar(h.Chain[i]) {
			return Link{}, fmt.Errorf("%s: not the head of an audit log", path)
		}
	}
	return l, nil
}

// head is the open file beside a log. It is locked, because two processes that
// write one log would break its chain.
type head struct{ file *os.File }

// openHead opens the head of the log at path and reads it. found is false for
// one that is new; one that cannot be read is taken for new, and why.
func openHead(path string) (h *head, at Link, found bool, why, err error) {
	f, err := os.OpenFile(HeadPath(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, at, false, nil, fmt.Errorf("audit log: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, at, false, nil, fmt.Errorf("audit log: %s: another process writes this log, and a chain has one writer: %w", path, err)
	}
	at, why = ReadHead(HeadPath(path))
	if notThere(why) {
		why = nil
	}
	return &head{f}, at, at.Seq > 0, why, nil
}

func (h *head) set(l Link) error {
	if _, err := h.file.WriteAt(fmt.Appendf(nil, headLine, l.Chain, l.Seq, l.Hash[:]), 0); err != nil {
		return fmt.Errorf("head of the audit log: %w", err)
	}
	return nil
}

func (h *head) close() error { return errors.Join(h.file.Sync(), h.file.Close()) }

func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
