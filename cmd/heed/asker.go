package main

import (
	"log/slog"
	"net/netip"

	"github.com/spf13/pflag"

	"heed/internal/config"
	"heed/proxy"
)

// asker is who heed check asks for: the proxy may have settings for some clients.
type asker struct {
	user, from string
}

func (a *asker) flags(fs *pflag.FlagSet) {
	fs.StringVar(&a.user, "user", "", "answer as for this `NAME` of auth.users_file")
	fs.StringVar(&a.from, "from", "", "answer as for a client at this `ADDRESS`")
}

// decider is the one that the proxy would use for such a client.
func (a asker) decider(c config.Config, source proxy.Source) (proxy.Decider, error) {
	d, err := decider(c, source)
	if err != nil {
		return proxy.Decider{}, err
	}
	var from netip.Addr
	if a.from != "" {
		if from, err = netip.ParseAddr(a.from); err != nil {
			return proxy.Decider{}, usage("an IP address, without a port", "--from: %q is not an address", a.from)
		}
	}
	if a.user != "" {
		known, err := users(c, slog.New(slog.DiscardHandler))
		if err != nil {
			return proxy.Decider{}, err
		}
		if !known.Has(a.user) {
			return proxy.Decider{}, usage("the proxy would not let such a user in", "--user: auth.users_file does not know %q", a.user)
		}
	}
	d.Monitor = c.Mode == "monitor"
	return d.For(a.user, from), nil
}
