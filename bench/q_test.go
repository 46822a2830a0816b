package bench
import ("testing";"heed/policy";"github.com/temoto/robotstxt")
func BenchmarkQ(b *testing.B) {
  tok := []string{"mybot"}
  for _, c := range []struct{name string; body []byte; path string}{
   {"lit30", file(30,"/dir%d/page%d/"), "/dir7919/page1/some/thing/else.html?x=1"},
   {"lit5000", file(5000,"/dir%d/page%d/"), "/dir7919/page1/some/thing/else.html?x=1"},
   {"wild30", file(30,"/*/dir%d/*/p%d.html$"), "/a/dir7919/page1/some/thing/else.html"},
   {"wild5000", file(5000,"/*/dir%d/*/p%d.html$"), "/a/dir7919/page1/some/thing/else.html"},
   {"3k", file(95,"/dir%d/page%d/"), "/dir7919/page1/some/thing/else.html?x=1"},
   {"500k", file(15000,"/dir%d/page%d/"), "/dir7919/page1/some/thing/else.html?x=1"},
  } {
   b.Run(c.name, func(b *testing.B) {
    u := policy.Target{Path:c.path}
    r := policy.Parse(c.body); g,_ := robotstxt.FromBytes(c.body)
    b.SetBytes(int64(len(c.body)))
    b.Run("heed", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { r.Decide(tok,u) } })
    gg := g.FindGroup("mybot")
    b.Run("temoto", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { gg.Test(c.path) } })
    b.Run("temoto2", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { g.TestAgent(c.path,"mybot") } })
    b.Run("heedparse", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { policy.Parse(c.body) } })
    b.Run("heedparse+decide", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { policy.Parse(c.body).Decide(tok,u) } })
    b.Run("temotoparse", func(b *testing.B){ b.ReportAllocs(); for b.Loop() { robotstxt.FromBytes(c.body) } })
   }) } }
