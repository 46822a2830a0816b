package policy

// Profile names how paths are compared. "" is RFC9309; a name that is none of
// these disallows everything.
type Profile string

// The profiles. All share the selection of groups and the longest match; they
// differ in which spellings of a path are equal and in how octets are counted.
const (
	// RFC9309 is the default: case-sensitive, compared after escapes of
	// unreserved octets are decoded and what has no place in a URL is encoded
	// (RFC 9309 2.2.2). Octets are those of that form.
	RFC9309 Profile = "rfc9309"
	// Decoded compares after every escape is decoded: %2F is a slash. Octets are
	// those of the pattern as written.
	Decoded Profile = "decoded"
	// Folded is Decoded without regard to case.
	Folded Profile = "folded"
	// Google reads and compares as Google's published parser does, its
	// peculiarities included.
	Google Profile = "google"
	// Strictest disallows when any of the others does. It also reads a path that
	// lacks its slash, and a full URL of the target's own origin as its path, where
	// they disallow. Decision.DisallowedBy names the profile that disallowed.
	Strictest Profile = "strictest"
)

// Profiles returns every profile, the default first.
func Profiles() []Profile { return []Profile{RFC9309, Decoded, Folded, Google, Strictest} }

// A comparison is what sets one profile apart from another. Strictest has none:
// it asks the others.
type comparison struct {
	profile  Profile
	dialect  *dialect // how lines are read
	path     *form    // what is compared of patterns, and of the path of a target
	query    *form    // and of both behind the "?"; the same as path where nothing differs there
	written  bool     // octets are those of the pattern as written, not of the form that is compared
	sent     bool     // a target is compared as it was sent
	fold     bool     // without regard to case
	explicit bool     // /robots.txt is a path like any other

	class [256]octetClass // of the octets of a target
}

var (
	rfc9309 = &comparison{profile: RFC9309, dialect: heed, path: rfcPath, query: rfcQuery}
	decoded = &comparison{profile: Decoded, dialect: heed, path: decodedPath, query: decodedPath, written: true}
	folded  = &comparison{profile: Folded, dialect: heed, path: decodedPath, query: decodedPath, written: true, fold: true}
	google  = &comparison{profile: Google, dialect: googles, path: googlePath, query: googlePath, sent: true, explicit: true}

	// all is what Strictest asks, in this order.
	all = [...]*comparison{rfc9309, decoded, folded, google}
)

func init() {
	for _, c := range all {
		for i, raw := range c.path.raw {
			switch {
			case i == '.':
				c.class[i] = dot
			case !raw || i == '%' || c.fold && folding(string([]byte{byte(i)})) == 0:
				c.class[i] = rewritten
			}
		}
	}
}

// comparisonOf returns nil for Strictest and for what is no profile.
func comparisonOf(p Profile) *comparison {
	switch p {
	case "", RFC9309:
		return rfc9309
	case Decoded:
		return decoded
	case Folded:
		return folded
	case Google:
		return google
	}
	return nil
}
