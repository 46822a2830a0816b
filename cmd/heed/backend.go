package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"heed/fetch"
	"heed/fetch/filestore"
	"heed/fetch/redisstore"
	"heed/internal/config"
)

// backend is a store of robots.txt files that is open.
type backend interface {
	fetch.Backend
	io.Closer
}

// openBackend opens the store that robots.store names: nil for memory. A server
// that is not there is found out later; a file that cannot be had is an error
// now, since it will not come by itself. held is the exit code when another
// process has it.
func openBackend(c config.Config, log *slog.Logger, held int) (backend, error) {
	setting := c.Robots.Store
	switch scheme, rest, _ := strings.Cut(setting, ":"); scheme {
	case "memory":
		return nil, nil
	case "file":
		s, err := filestore.Open(rest, log)
		if errors.Is(err, filestore.ErrLocked) {
			hint := "stop that heed, or turn its admin listener on (admin.listen) and ask there"
			if c.Admin.Listen != "" {
				hint = "ask that heed at its admin listener: heed robots ... --admin " + dialable(c.Admin.Listen)
			}
			return nil, &failure{held, fmt.Errorf("%s: %w", setting, err), hint}
		}
		if err != nil {
			return nil, usage("does its folder exist, and may heed write there?", "robots.store: %w", err)
		}
		return s, nil
	default:
		s, err := redisstore.Open(setting, c.Robots.StoreTimeout)
		if err != nil {
			return nil, usage("", "robots.store: %w", err)
		}
		return s, nil
	}
}
