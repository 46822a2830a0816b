package main

import (
	"heed/bench/load"
	"heed/bench/origin"
)

// memory is the work that is not one of requests.
const memory = "memory"

// works is what is measured, by the names for -only.
var works = []load.Work{
	{Name: "plain", About: "Plain HTTP, 1 KB, 64 connections kept alive.", Path: origin.Small, Size: origin.SmallSize, Connections: 64},
	{Name: "plain-new", About: "Plain HTTP, 1 KB, a new connection for each request, 64 at a time.",
		Path: origin.Small, Size: origin.SmallSize, Connections: 64, New: true},
	{Name: "plain-100k", About: "Plain HTTP, 100 KB, 64 connections kept alive.", Path: origin.Medium, Size: origin.MediumSize, Connections: 64},
	{Name: "plain-10m", About: "Plain HTTP, 10 MB, 4 connections kept alive.", Path: origin.Large, Size: origin.LargeSize, Connections: 4},

	{Name: "intercept", About: "Intercepted HTTPS, 1 KB, 64 connections kept alive, HTTP/1.1.",
		Via: load.Intercept, Path: origin.Small, Size: origin.SmallSize, Connections: 64},
	{Name: "intercept-new", About: "Intercepted HTTPS, 1 KB, a new connection for each request, 64 at a time, one host.",
		Via: load.Intercept, Path: origin.Small, Size: origin.SmallSize, Connections: 64, New: true},
	{Name: "intercept-h2", About: "Intercepted HTTPS, 1 KB, HTTP/2 to the client: 64 streams on 4 connections.",
		Via: load.Intercept, Path: origin.Small, Size: origin.SmallSize, Connections: 4, Streams: 16},
	{Name: "intercept-hosts", About: "Intercepted HTTPS, 1 KB, a host never asked before for each request, 16 at a time: " +
		"a new leaf, and for heed its robots.txt.",
		Via: load.Intercept, Path: origin.Small, Size: origin.SmallSize, Connections: 16, Hosts: true, New: true},
	{Name: "intercept-10m", About: "Intercepted HTTPS, 10 MB, 4 connections kept alive, HTTP/1.1.",
		Via: load.Intercept, Path: origin.Large, Size: origin.LargeSize, Connections: 4},

	{Name: "tunnel", About: "A tunnel not looked into, 1 KB with TLS in it, 64 connections kept alive.",
		Via: load.Tunnel, Path: origin.Small, Size: origin.SmallSize, Connections: 64},
	{Name: "tunnel-new", About: "A new tunnel for each request, 1 KB with TLS in it, 64 at a time.",
		Via: load.Tunnel, Path: origin.Small, Size: origin.SmallSize, Connections: 64, New: true},
	{Name: "tunnel-10m", About: "A tunnel not looked into, 10 MB with TLS in it, 4 connections kept alive.",
		Via: load.Tunnel, Path: origin.Large, Size: origin.LargeSize, Connections: 4},
}

// held are the connections of the work memory.
func held(via load.Via, n int) load.Work {
	return load.Work{Name: memory, Via: via, Path: origin.Small, Size: origin.SmallSize, Connections: n}
}
