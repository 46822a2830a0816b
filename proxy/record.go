package proxy

import (
	"net/netip"
	"time"

	"heed/policy"
)

// Event says what a Record tells of.
type Event string

// The events. An exchange is one request and its answer; a tunnel and a
// WebSocket are told of twice, because they may last for days.
const (
	EventExchange Event = "exchange"
	EventOpen     Event = "open"
	EventClose    Event = "close"
)

// A Record is everything there is to say about one finished exchange. The
// audit log, the metrics and the dashboard are all made from it. It is handed
// out once, after the exchange has ended, and must not be changed; receivers
// may keep it.
type Record struct {
	Time   time.Time // when the header of the request had come; of a malformed one its first octet
	ID     string    // unique among the records of all runs; open and close of one tunnel share it
	Event  Event
	Client netip.AddrPort
	User   string // who proved to be the client; "" when nobody did
	Method string
	URL    string // target as sent, without userinfo; may be malformed on a bad request

	Decision policy.Decision // verdict error keeps what robots.txt had said, if it was asked
	Access   policy.Access   // the robots.txt that was asked; zero URL when none was

	ClientEntry int  // which entry of clients gave the settings, counted from 1; 0 when none did
	Enforced    bool // false in monitor mode: the verdict was only noted
	Intercepted bool // the request came out of a decrypted tunnel
	Status      int  // what the client got; 0 when it got nothing

	RequestBytes  int64 // body octets read from the client; raw octets of a tunnel
	ResponseBytes int64 // body octets sent to the client; raw octets of a tunnel

	Duration time.Duration // from Time to the end of the exchange
	Decided  time.Duration // the part of it spent on reaching the verdict, robots.txt included
	Err      string        // what went wrong, for people; "" when nothing did
	ErrKind  string        // Proxy-Status error type of an upstream failure (RFC 9209 2.3); "" when there was none
}
