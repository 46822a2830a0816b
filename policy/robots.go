package policy

// Robots is a parsed robots.txt.
type Robots struct{}

// Parse reads a robots.txt.
func Parse(body []byte) *Robots { return &Robots{} }

// Decide reaches the verdict on t under profile RFC9309.
func (r *Robots) Decide(tokens []string, t Target) Decision { return Decision{} }

func (r *Robots) unrestricted(tokens []string) Decision { return Decision{} }

// IsRobotsTXT reports whether the target is /robots.txt, which is always allowed.
func (t Target) IsRobotsTXT() bool { return t.Path == "/robots.txt" }
