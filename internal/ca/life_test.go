package ca

import (
	"crypto"
	"crypto/tls"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLeafNeverOutlivesTheCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ecdsaKey(t)
		template := caTemplate()
		template.NotBefore = time.Now()
		template.NotAfter = time.Now().Add(9 * time.Hour)
		a, err := Open(writeCA(t, selfSigned(t, template, key), pkcs8(t, key)))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		first := leaf(t, a, "example.com")
		if !first.NotAfter.Equal(a.Certificate().NotAfter) || !first.NotBefore.Equal(a.Certificate().NotBefore) {
			t.Errorf("valid from %s to %s, beyond the CA", first.NotBefore, first.NotAfter)
		}
		time.Sleep(9*time.Hour - time.Second)
		if leaf(t, a, "example.com") == first {
			t.Error("not minted again in the last third of its life")
		}
		time.Sleep(2 * time.Second)
		if _, err := a.Leaf("example.com"); err == nil {
			t.Error("an expired CA still signs")
		}
	})
}

func TestLeafIsMintedAgainBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t)
		first := leaf(t, a, "example.com")
		time.Sleep(59 * 24 * time.Hour)
		if leaf(t, a, "example.com") != first {
			t.Error("minted again with more than a third of its life left")
		}
		time.Sleep(24 * time.Hour)
		second := leaf(t, a, "example.com")
		if second == first || a.Issued() != 2 {
			t.Errorf("not minted again with less than a third of its life left (issued %d)", a.Issued())
		}
	})
}

// slowSigner makes minting take a while, so that everybody asks in the meantime.
type slowSigner struct{ crypto.Signer }

func (s slowSigner) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	time.Sleep(time.Second)
	return s.Signer.Sign(random, digest, opts)
}

func TestConcurrentDemandMintsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t)
		a.key = slowSigner{a.key}
		const n = 100
		got := make([]*tls.Certificate, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				if got[i], err = a.Leaf("example.com"); err != nil {
					t.Errorf("Leaf: %v", err)
				}
			})
		}
		wg.Wait()
		if a.Issued() != 1 {
			t.Errorf("issued %d, want 1", a.Issued())
		}
		for i := range got {
			if got[i] != got[0] {
				t.Fatalf("caller %d has a leaf of its own", i)
			}
		}
	})
}

func TestConcurrentDemandForManyNames(t *testing.T) {
	a := open(t)
	const names, callers = 20, 10
	var wg sync.WaitGroup
	for i := range names * callers {
		wg.Go(func() {
			if _, err := a.Leaf(fmt.Sprintf("h%d.example", i%names)); err != nil {
				t.Errorf("Leaf: %v", err)
			}
		})
	}
	wg.Wait()
	if a.Issued() != names {
		t.Errorf("issued %d, want %d", a.Issued(), names)
	}
}
