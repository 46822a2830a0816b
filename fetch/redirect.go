package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"heed/policy"
)

// maxLocation is what RFC 9110 4.1 asks every recipient of a URI to take.
const maxLocation = 8000

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// location returns the absolute http or https URL that a redirect from base
// leads to, without its fragment. The errors quote nothing that could be a
// secret.
func location(base *url.URL, header http.Header) (string, error) {
	ref := header.Get("Location")
	if ref == "" {
		return "", errors.New("redirect without a Location")
	}
	if len(ref) > maxLocation {
		return "", fmt.Errorf("redirect to a URL of more than %d octets", maxLocation)
	}
	u, err := base.Parse(ref)
	if err != nil {
		return "", errors.New("redirect to a malformed URL")
	}
	if u.User != nil {
		return "", errors.New("redirect to a URL with user information")
	}
	target, err := policy.ParseTarget(u.String())
	if err != nil {
		return "", fmt.Errorf("redirect: %v", err)
	}
	return target.String(), nil
}
