package proxy

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"heed/policy"
)

// challenge asks for a name and a password (RFC 7617).
const challenge = `Basic realm="heed", charset="UTF-8"`

// admit finds out who the client is and answers it when it may not use the proxy,
// or when nobody may at present.
// What comes out of a tunnel was admitted with the CONNECT, and the page of the
// proxy port is for everybody.
func (x *exchange) admit(r *http.Request) bool {
	if x.link.http != nil && x.link.http.limit != "" {
		x.tooMany(r, x.link.http.limit)
		return false
	}
	direct := r.Method != http.MethodConnect && !r.URL.IsAbs()
	if !direct && !x.readied(r) {
		return false
	}
	if x.set.authenticate == nil || x.link.intercepted() || direct {
		return true
	}
	user, password, err := credentials(r.Header["Proxy-Authorization"])
	var retry time.Time
	if err == nil {
		var ok bool
		if ok, retry = x.set.authenticate(r.Context(), user, password, x.rec.Client.Addr()); ok {
			x.identify(user)
			return true
		}
		err = errors.New("the name or the password is wrong")
		if !retry.IsZero() {
			err = errors.New("too many wrong passwords: wait before the next try")
		}
	}
	if x.gone() {
		x.abandon(r.Context().Err())
	}
	x.rec.URL = withoutUserinfo(r.RequestURI)
	x.fail(policy.ReasonAuth, err)
	res := x.answer(r, refusal{
		status: http.StatusProxyAuthRequired, token: "http_request_denied", title: "Who are you?",
		detail: "This proxy wants a user name and a password: " + err.Error(), retry: retry,
	})
	res.Header["Proxy-Authenticate"] = []string{challenge}
	x.deliver(res)
	return false
}

// readied answers requests while none may be served.
func (x *exchange) readied(r *http.Request) bool {
	if x.p.ready == nil {
		return true
	}
	err := x.p.ready()
	if err == nil {
		return true
	}
	x.rec.URL = withoutUserinfo(r.URL.String())
	if r.Method == http.MethodConnect {
		x.rec.URL = withoutUserinfo(r.RequestURI)
	}
	x.fail(policy.ReasonInternal, err)
	x.deliver(x.answer(r, refusal{
		status: http.StatusServiceUnavailable, token: "proxy_internal_error", title: "Not ready",
		detail: "No request is carried at present: " + err.Error(), retry: time.Now().Add(time.Second),
	}))
	return false
}

// credentials reads a Proxy-Authorization field. The errors do not repeat it.
func credentials(fields []string) (user, password string, err error) {
	switch len(fields) {
	case 0:
		return "", "", errors.New("none is given")
	case 1:
	default:
		return "", "", errors.New("Proxy-Authorization is given more than once")
	}
	scheme, encoded, _ := strings.Cut(fields[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", errors.New("the scheme of Proxy-Authorization is not Basic")
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, " "))
	user, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok || !utf8.Valid(decoded) {
		return "", "", errors.New("Proxy-Authorization is not name:password in base64 and UTF-8")
	}
	return user, password, nil
}
