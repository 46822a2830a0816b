module heed/bench

go 1.26.0

require (
	github.com/temoto/robotstxt v1.1.2
	heed v0.0.0
)

replace heed => ../
