package policy_test

import "testing"

func TestEscapes(t *testing.T) {
	equal := [][2]string{
		{"/~joe", "/%7ejoe"},
		{"/a%3cb", "/a<b"},
		{"/a b", "/a%20b"},
		{"/a\tb", "/a%09b"},
		{`/"|\^{}` + "`", "/%22%7C%5C%5e%7b%7D%60"},
		{"/a[1]", "/a%5B1%5d"},
		{"/ツ", "/%e3%83%84"},
		{"/a%2ab", "/a*b"},
		{"/a$b", "/a%24b"},
		{"/100%", "/100%25"},
		{"/%zz%4", "/%25zz%254"},
		{"/%%41", "/%25A"},
		{"/!&'()+,;=:@-._~", "/!&'()+,;=:@-._~"},
	}
	for _, e := range equal {
		checkAll(t, []reading{
			{star("Disallow: " + e[0]), "bot", e[1], 2},
			{star("Disallow: " + e[0]), "bot", e[0], 2},
			{star("Disallow: " + e[1]), "bot", e[1], 2},
		})
	}
	differ := [][2]string{
		{"/a/b", "/a%2Fb"},
		{"/a%2Fb", "/a/b"},
		{"/a%3Ab", "/a:b"},
		{"/a%2541", "/a%41"},
		{"/a?b%3Dc", "/a?b=c"},
		{"/a?b%26c", "/a?b&c"},
		{"/a%3Fb", "/a?b"},
		{"/A", "/a"},
		{"/a%2A", "/aa"},
	}
	for _, d := range differ {
		reading{star("Disallow: " + d[0]), "bot", d[1], 0}.check(t)
	}
}

func TestQuerySpellings(t *testing.T) {
	spellings := []string{"/a?u=h://z", "/a?u=h%3A%2F%2Fz", "/a?u=h:%2f/z"}
	for _, rule := range spellings {
		for _, path := range spellings {
			checkAll(t, []reading{
				{star("Disallow: " + rule), "bot", path, 2},
				{star("Disallow: " + rule + "$"), "bot", path, 2},
				{star("Disallow: /*" + rule[2:] + "$"), "bot", path, 2},
				{star("Disallow: /*" + rule[5:]), "bot", path, 2},
				{star("Disallow: /*" + rule[5:] + "$"), "bot", path, 2},
				{star("Disallow: " + rule + "*z"), "bot", path, 0},
			})
		}
	}
	checkAll(t, []reading{
		// Before the query they are different, wherever the rule has its star.
		{star("Disallow: /*%2Fz"), "bot", "/a/z?u=1", 0},
		{star("Disallow: /*/z?u"), "bot", "/a%2Fz?u=1", 0},
		{star("Disallow: /*%2F*%3A"), "bot", "/a%2Fz?u=/:", 2},
		{star("Disallow: /*?*?x:"), "bot", "/a?b?x%3A", 2},
	})
}

func TestSpecificity(t *testing.T) {
	checkAll(t, []reading{
		{star("Disallow: /a", "Allow: /a*"), "bot", "/ab", -3},
		{star("Disallow: /a", "Allow: /a$"), "bot", "/a", -3},
		{star("Disallow: /a*$", "Allow: /ab"), "bot", "/abc", 2},
		{star("Allow: /%62%62", "Disallow: /bbb"), "bot", "/bbb", 3},
		{star("Allow: /ツ", "Disallow: /*******"), "bot", "/%E3%83%84", -2},
		{star("Disallow: /a$b", "Allow: /a*b*b"), "bot", "/a$bb", -3},
		{star("Disallow: /a$b", "Allow: /a*b"), "bot", "/a$bb", 2},
		{star("Disallow: /a", "Disallow: /*", "Disallow: /a"), "bot", "/a", 2},
		{star("Allow: /x", "Disallow: /a", "Allow: /a", "Allow: /*"), "bot", "/a", -4},
		// An escape in the query counts as it is written.
		{star("Allow: /?a:", "Disallow: /?a%3A"), "bot", "/?a:", 3},
	})
}

func TestDotSegments(t *testing.T) {
	private := star("Disallow: /private/", "Allow: /private/open")
	checkAll(t, []reading{
		{private, "bot", "/x/../private/a", 2},
		{private, "bot", "/x/%2e%2E/private/a", 2},
		{private, "bot", "/./private/a", 2},
		{private, "bot", "/../private/.", 2},
		{private, "bot", "/private/..", 2},        // as sent
		{private, "bot", "/private/open/../a", 2}, // resolved
		{private, "bot", "/private/open/./a", -3},
		{private, "bot", "/x?/../private/", 0},
		{private, "bot", "/x/..%2Fprivate/", 0},
		{private, "bot", "/private//../a", 2},
		{private, "bot", "/private../.a/...", 0},
		{star("Disallow: /b", "Disallow: /a/"), "bot", "/a/../b", 3}, // as sent is named
		{star("Disallow: /a/../b"), "bot", "/b", 0},
		{star("Disallow: /a/../b"), "bot", "/a/../b", 2},
		{star("Disallow: /a/$"), "bot", "/a/b/..", 2},
		{star("Disallow: //b"), "bot", "/a/..//b", 2},
		{star("Disallow: /?q"), "bot", "/a/..?q", 2},
	})
}

func TestRobotsTXTItself(t *testing.T) {
	all := star("Disallow: /")
	checkAll(t, []reading{
		{all, "bot", "/robots.txt", 0},
		{all, "bot", "/%72obots%2Etxt", 0},
		{all, "bot", "/robots.txt?", 2},
		{all, "bot", "/robots.txt?x", 2},
		{all, "bot", "/robots.txt/", 2},
		{all, "bot", "/ROBOTS.TXT", 2},
		{all, "bot", "/x/../robots.txt", 2},
		{all, "bot", "/./robots.txt", 2},
		{all, "bot", "//robots.txt", 2},
		{all, "bot", "/x/robots.txt", 2},
		{all, "bot", "/%2Frobots.txt", 2},
		{star("Disallow: /robots.txt"), "bot", "/x/../robots.txt", 2},
	})
}

func TestWildcards(t *testing.T) {
	checkAll(t, []reading{
		{star("Disallow: /*.dext$"), "bot", "/fish.dext.dext", 2},
		{star("Disallow: /*.dext$"), "bot", "/fish.dext?x.dext", 2},
		{star("Disallow: /*.dext$"), "bot", "/fish.dext?x", 0},
		{star("Disallow: /a*a$"), "bot", "/a", 0},
		{star("Disallow: /a*a$"), "bot", "/aa", 2},
		{star("Disallow: /ab*ba$"), "bot", "/aba", 0},
		{star("Disallow: /*?a*?a$"), "bot", "/?a", 0},
		{star("Disallow: /*b$"), "bot", "/ab?", 0},
		{star("Disallow: /*?$"), "bot", "/ab?", 2},
		{star("Disallow: /*?$"), "bot", "/ab??", 2},
		{star("Disallow: /$"), "bot", "/", 2},
		{star("Disallow: /$"), "bot", "/?", 0},
		{star("Disallow: /a$$"), "bot", "/a$", 2},
		{star("Disallow: /a%24"), "bot", "/a$b", 2},
		{star("Disallow: /a*$"), "bot", "/ab?c", 2},
		{star("Disallow: /***b**$"), "bot", "/ab?c", 2},
		{star("Disallow: **"), "bot", "/", 2},
		{star("Disallow: /a*?"), "bot", "/a", 0},
	})
}
