package audit

import (
	"fmt"
	"testing"
)

func addLine(t *testing.T, s *Summary, line string) {
	t.Helper()
	var e Entry
	if err := e.Parse([]byte(line)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	s.Add(&e)
}

func TestSummaryCounts(t *testing.T) {
	s := NewSummary(Dimensions...)
	for _, line := range []string{
		`{"time":"2026-03-01T14:00:00.000000000Z","event":"exchange","client":"192.0.2.7:1","user":"u","agent":"a","url":"https://h.example/x","verdict":"allow","reason":"no-rule","enforced":true}`,
		`{"time":"2026-03-01T15:00:00.000000000Z","event":"exchange","client":"192.0.2.7:2","agent":"a","url":"https://h.example/p","verdict":"disallow","reason":"rule","rule":"Disallow: /p","line":2,"enforced":true}`,
		`{"time":"2026-03-01T13:00:00.000000000Z","event":"exchange","client":"192.0.2.8:2","agent":"b","url":"http://g.example/p","verdict":"disallow","reason":"rule","rule":"Disallow: /p","line":9,"enforced":false}`,
		`{"time":"2026-03-01T15:30:00.000000000Z","event":"open","url":"h.example:443","verdict":"error","reason":"upstream","enforced":true}`,
		`{"time":"2026-03-01T15:30:00.000000000Z","event":"close","url":"h.example:443","verdict":"error","reason":"upstream","enforced":true}`,
		`{"time":"2026-03-01T16:00:00.000000000Z","event":"lost","lost":5}`,
	} {
		addLine(t, s, line)
	}
	if s.Total != (Counts{4, 1, 2, 1}) || s.Monitored != 1 || s.Lost != 5 {
		t.Errorf("total %+v, monitored %d, lost %d", s.Total, s.Monitored, s.Lost)
	}
	if s.First()[:13] != "2026-03-01T13" || s.Last()[:16] != "2026-03-01T15:30" {
		t.Errorf("from %s to %s", s.First(), s.Last())
	}
	got := ""
	for _, table := range s.Tables() {
		got += table.By + ":"
		for _, r := range table.Rows() {
			got += fmt.Sprintf(" %s=%d/%d/%d/%d", r.Key, r.Decisions, r.Allowed, r.Disallow, r.Errors)
		}
		got += "\n"
	}
	want := `verdict: disallow=2/0/2/0 allow=1/1/0/0 error=1/0/0/1
reason: rule=2/0/2/0 no-rule=1/1/0/0 upstream=1/0/0/1
host: h.example=3/1/1/1 g.example=1/0/1/0
rule: g.example Disallow: /p=1/0/1/0 h.example Disallow: /p=1/0/1/0
agent: a=2/1/1/0 b=1/0/1/0
client: 192.0.2.7=2/1/1/0 192.0.2.8=1/0/1/0
user: u=1/1/0/0
hour: 2026-03-01T13=1/0/1/0 2026-03-01T14=1/1/0/0 2026-03-01T15=2/0/1/1
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSummaryStaysBoundedAndKeepsWhatIsCommon(t *testing.T) {
	s := NewSummary("host")
	add := func(host string) {
		s.Add(&Entry{URL: []byte("http://" + host + "/"), Verdict: []byte("allow"), Event: []byte("exchange")})
	}
	const rare = 3*MaxKeys + 17
	for i := range rare {
		add(fmt.Sprint("r", i))
		if i%10 == 0 {
			add("common") // from the beginning on
		}
		if i > rare/2 && i%20 == 0 {
			add("late")
		}
	}
	table := &s.Tables()[0]
	rows := table.Rows()
	if len(rows) > MaxKeys || rows[0].Key != "common" || rows[0].Decisions != (rare+9)/10 || rows[1].Key != "late" {
		t.Errorf("%d rows, the first %+v and %+v", len(rows), rows[0], rows[1])
	}
	sum := table.Others.Decisions
	for _, r := range rows {
		sum += r.Decisions
	}
	if sum != s.Total.Decisions || table.Slack == 0 || table.Slack > 10 {
		t.Errorf("%d decisions in the table, %d in all; slack %d", sum, s.Total.Decisions, table.Slack)
	}
}

func TestFilter(t *testing.T) {
	var e Entry
	if err := e.Parse(Append(nil, refusal(), QueryKeep)); err != nil {
		t.Fatal(err)
	}
	at := refusal().Time
	for _, tt := range []struct {
		name   string
		filter Filter
		want   bool
	}{
		{"all", Filter{}, true},
		{"all of it", Filter{Since: at, Until: at.Add(1), Host: "h.example", Verdict: "disallow", Reason: "rule", Agent: "HEED"}, true},
		{"from later on", Filter{Since: at.Add(1)}, false},
		{"before", Filter{Until: at}, false},
		{"another host", Filter{Host: "example"}, false},
		{"a suffix", Filter{Host: "*.example"}, true},
		{"a suffix of itself", Filter{Host: "*.h.example"}, false},
		{"another verdict", Filter{Verdict: "allow"}, false},
		{"another reason", Filter{Reason: "no-rule"}, false},
		{"another agent", Filter{Agent: "hee"}, false},
		{"a user", Filter{User: "u"}, false},
	} {
		tt.filter.Ready()
		if got := tt.filter.Match(&e); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
