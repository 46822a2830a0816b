package policy

// An extension is a key that is no part of RFC 9309 but that some crawler reads.
type extension struct {
	name     string
	honoured string                       // by whom, for people
	read     func(*Extensions, Record)    // nil where it concerns the whole file
	valid    func(value string) (ok bool) // nil where anything will do
}

// extensions is keyed by name in lower case.
var extensions = map[string]extension{
	"crawl-delay": {
		name:     "Crawl-delay",
		honoured: "Bing and many others wait so many seconds between requests; Google and Yandex ignore it",
		read: func(x *Extensions, rec Record) {
			if d, ok := parseSeconds(rec.Value); ok {
				x.CrawlDelay = max(x.CrawlDelay, d)
			}
		},
		valid: func(v string) bool { _, ok := parseSeconds(v); return ok },
	},
	"request-rate": {
		name:     "Request-rate",
		honoured: "few crawlers limit their rate by it; Google and Bing ignore it",
		read: func(x *Extensions, rec Record) {
			if r, ok := parseRate(rec.Value); ok {
				x.RequestRates = append(x.RequestRates, r)
			}
		},
		valid: func(v string) bool { _, ok := parseRate(v); return ok },
	},
	"visit-time": {
		name:     "Visit-time",
		honoured: "few crawlers keep to these hours; Google and Bing ignore it",
		read: func(x *Extensions, rec Record) {
			if c, ok := parseClock(rec.Value); ok {
				x.VisitTimes = append(x.VisitTimes, c)
			}
		},
		valid: func(v string) bool { _, ok := parseClock(v); return ok },
	},
	"content-signal": {
		name:     "Content-Signal",
		honoured: "a statement of use by Cloudflare's scheme (search, ai-input, ai-train); it stops no request",
		read: func(x *Extensions, rec Record) {
			if p, ok := parsePreferences(rec); ok {
				x.ContentSignals = append(x.ContentSignals, p)
			}
		},
		valid: validPreferences,
	},
	"content-usage": {
		name:     "Content-Usage",
		honoured: "a preference on use by the IETF's AIPREF drafts; it stops no request",
		read: func(x *Extensions, rec Record) {
			if p, ok := parsePreferences(rec); ok {
				x.ContentUsages = append(x.ContentUsages, p)
			}
		},
		valid: validPreferences,
	},
	"disallowaitraining": {
		name:     "DisallowAITraining",
		honoured: "a proposal for the use in training AI; it stops no request",
		read:     func(x *Extensions, rec Record) { x.AITraining = append(x.AITraining, rec.Value) },
	},
	"allowaitraining": {name: "AllowAITraining", honoured: "a proposal for the use in training AI; it stops no request"},
	"sitemap":         {name: "Sitemap", honoured: "most search engines read it, whatever group it stands in", valid: absoluteSitemap},
	"site-map":        {name: "Site-map", honoured: "Google reads it as Sitemap", valid: absoluteSitemap},
	"host":            {name: "Host", honoured: "nobody honours it any more, since Yandex dropped it in 2018; use a redirect"},
	"clean-param":     {name: "Clean-param", honoured: "Yandex leaves these parameters out of URLs; others ignore it"},
	"license":         {name: "License", honoured: "a pointer to terms by Really Simple Licensing; it stops no request"},
	"noindex":         {name: "Noindex", honoured: "nobody honours it, since Google dropped it in 2019; send X-Robots-Tag: noindex"},
	"nofollow":        {name: "Nofollow", honoured: "nobody honours it, since Google dropped it in 2019; send X-Robots-Tag: nofollow"},
	"noarchive":       {name: "Noarchive", honoured: "nobody honours it; send X-Robots-Tag: noarchive"},
	"robot-version":   {name: "Robot-version", honoured: "nobody reads it, it is left of a draft of 1996"},
	"comment":         {name: "Comment", honoured: "nobody reads it, it is left of a draft of 1996; write # before a comment"},
}

func validPreferences(v string) bool { _, ok := parsePreferences(Record{Value: v}); return ok }

func absoluteSitemap(v string) bool { _, err := ParseTarget(v); return err == nil }
