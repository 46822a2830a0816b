package fetch

import (
	"encoding/json"
	"fmt"
	"time"

	"heed/policy"
)

// An Entry is what a [Backend] keeps of one origin: the last answer that settled
// the matter, and what came of the attempts since.
type Entry struct {
	Origin string

	Result       policy.Result // Unreachable: no answer has settled it yet
	Status       int
	Cause        string
	FinalURL     string
	MediaType    string
	Foreign      string // what the body is instead of a robots.txt; for who has not read it
	SHA256       string // names the body; "" when there is none
	ETag         string
	LastModified string
	Declared     time.Duration // lifetime that the answer named; negative: none
	Retrieved    time.Time
	Fresh        time.Time // the end of freshness

	Failures     int // attempts since, all unreachable
	FailedStatus int
	FailedURL    string // where redirects had led
	FailedCause  string
	Failed       time.Time // the answer to the last of them, if there was one
	Retry        time.Time // when the next is due

	Updated time.Time // the last attempt
	Keep    time.Time // from here on the entry is of no use
}

// entryFormat is the version of the encoding. An entry of another one is not
// read; it is written again in its time.
const entryFormat = 1

// entryJSON is an Entry as it is stored. Times are Unix milliseconds.
type entryJSON struct {
	Format       int    `json:"v"`
	Origin       string `json:"origin"`
	Result       string `json:"result"`
	Status       int    `json:"status,omitempty"`
	Cause        string `json:"cause,omitempty"`
	FinalURL     string `json:"final_url,omitempty"`
	MediaType    string `json:"type,omitempty"`
	Foreign      string `json:"not_robots,omitempty"`
	SHA256       string `json:"sha256,omitempty"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Declared     int64  `json:"declared,omitempty"`
	Retrieved    int64  `json:"retrieved,omitempty"`
	Fresh        int64  `json:"fresh,omitempty"`
	Failures     int    `json:"failures,omitempty"`
	FailedStatus int    `json:"failed_status,omitempty"`
	FailedURL    string `json:"failed_url,omitempty"`
	FailedCause  string `json:"failed_cause,omitempty"`
	Failed       int64  `json:"failed,omitempty"`
	Retry        int64  `json:"retry,omitempty"`
	Updated      int64  `json:"updated"`
	Keep         int64  `json:"keep"`
}

// Encode returns e in the form that [DecodeEntry] reads, with its format
// version.
func (e Entry) Encode() []byte {
	data, _ := json.Marshal(entryJSON{ // a struct of strings and numbers always encodes
		Format: entryFormat, Origin: e.Origin,
		Result: e.Result.String(), Status: e.Status, Cause: e.Cause, FinalURL: e.FinalURL, MediaType: e.MediaType, Foreign: e.Foreign,
		SHA256: e.SHA256, ETag: e.ETag, LastModified: e.LastModified, Declared: e.Declared.Milliseconds(),
		Retrieved: millis(e.Retrieved), Fresh: millis(e.Fresh),
		Failures: e.Failures, FailedStatus: e.FailedStatus, FailedURL: e.FailedURL, FailedCause: e.FailedCause,
		Failed: millis(e.Failed), Retry: millis(e.Retry),
		Updated: millis(e.Updated), Keep: millis(e.Keep),
	})
	return data
}

// DecodeEntry reads what [Entry.Encode] wrote. Another format version is
// [ErrNotStored]; anything else that cannot be read is another error.
func DecodeEntry(data []byte) (Entry, error) {
	var j entryJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Entry{}, fmt.Errorf("entry: %v", err)
	}
	if j.Format != entryFormat {
		return Entry{}, ErrNotStored
	}
	e := Entry{
		Origin: j.Origin,
		Status: j.Status, Cause: j.Cause, FinalURL: j.FinalURL, MediaType: j.MediaType, Foreign: j.Foreign,
		SHA256: j.SHA256, ETag: j.ETag, LastModified: j.LastModified, Declared: time.Duration(j.Declared) * time.Millisecond,
		Retrieved: moment(j.Retrieved), Fresh: moment(j.Fresh),
		Failures: j.Failures, FailedStatus: j.FailedStatus, FailedURL: j.FailedURL, FailedCause: j.FailedCause,
		Failed: moment(j.Failed), Retry: moment(j.Retry),
		Updated: moment(j.Updated), Keep: moment(j.Keep),
	}
	for _, r := range []policy.Result{policy.Successful, policy.Unavailable} {
		if r.String() == j.Result {
			e.Result = r
		}
	}
	return e, nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// entry is k as a backend keeps it.
func (k *known) entry(origin string) Entry {
	a := k.access
	e := Entry{
		Origin: origin,
		Result: a.Result, Status: a.Status, Cause: a.Cause, FinalURL: a.FinalURL, MediaType: a.MediaType,
		SHA256: a.SHA256, ETag: k.etag, LastModified: k.modified, Declared: k.declared,
		Retrieved: a.Retrieved, Fresh: k.fresh, Updated: k.updated, Keep: k.useful(),
	}
	if k.file != nil {
		e.Foreign = k.file.foreign
	}
	if t := k.trouble; t != nil {
		e.Failures, e.FailedStatus, e.FailedURL, e.FailedCause = t.failures, t.access.Status, t.access.FinalURL, t.access.Cause
		e.Failed, e.Retry = t.access.Retrieved, t.access.Retry
	}
	return e
}

// fromEntry is what e says is known of o. Nothing in it is trusted to last
// longer than the settings allow. f is the file, for a successful result.
func (s *Store) fromEntry(o policy.Origin, e Entry, f *file) *known {
	now := time.Now()
	k := &known{declared: e.Declared, updated: e.Updated, access: policy.Access{URL: o.RobotsURL()}}
	if e.Result != policy.Unreachable && !e.Retrieved.After(now.Add(maxSkew)) {
		k.access = policy.Access{
			Result: e.Result, URL: o.RobotsURL(), FinalURL: e.FinalURL, Status: e.Status,
			Retrieved: e.Retrieved, MediaType: e.MediaType, Cause: e.Cause,
		}
		if e.Result == policy.Successful {
			k.access.SHA256, k.file = e.SHA256, f
			k.validators = validators{etag: e.ETag, modified: e.LastModified}
		}
		s.schedule(k, e.Fresh.Sub(e.Retrieved))
	}
	if e.Failures > 0 {
		retry := e.Retry
		if latest := now.Add(maxRetryAfter); retry.After(latest) {
			retry = latest
		}
		k.trouble = &trouble{failures: e.Failures, access: policy.Access{
			URL: o.RobotsURL(), FinalURL: e.FailedURL, Status: e.FailedStatus, Retrieved: e.Failed,
			Cause: e.FailedCause, Retry: retry,
		}}
	}
	return k
}

// maxSkew is what the clocks of a fleet may differ by. An answer from further
// in the future is not believed.
const maxSkew = time.Minute
