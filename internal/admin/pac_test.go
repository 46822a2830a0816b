package admin_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"heed/internal/admin"
)

// A proxy port that speaks TLS is named as one, on the page and in the PAC files.
func TestProxyPortOverTLSIsNamedAsOne(t *testing.T) {
	for _, secure := range []bool{false, true} {
		scheme, kind := "http://", "PROXY"
		if secure {
			scheme, kind = "https://", "HTTPS"
		}
		direct := admin.Direct(admin.DirectOptions{Address: "127.0.0.1:8080", TLS: secure})
		listener := admin.New(admin.Options{Listen: "127.0.0.1:8081", Proxy: "127.0.0.1:8080", ProxyTLS: secure})
		w := httptest.NewRecorder()
		direct.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8080/", nil))
		if want := "https_proxy=" + scheme + "127.0.0.1:8080"; !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in %s", want, w.Body)
		}
		w = httptest.NewRecorder()
		direct.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8080/proxy.pac", nil))
		if want := kind + " 127.0.0.1:8080"; !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in %s", want, w.Body)
		}
		w = httptest.NewRecorder()
		listener.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8081/proxy.pac", nil))
		if want := kind + " 127.0.0.1:8080"; !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in %s", want, w.Body)
		}
	}
}
