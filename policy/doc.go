// Package policy decides whether a crawler may fetch a URL under the Robots
// Exclusion Protocol (RFC 9309).
//
// It parses robots.txt (2.2, 2.3.1.5), selects the group of a product token
// (2.2.1), compares paths (2.2.2, 2.2.3) under one of several profiles, and
// turns an access result (2.3.1) and its rules into one [Decision]. It explains
// decisions ([Explanation]), reports what is wrong in a file ([Lint]), and hands
// out what RFC 9309 does not define ([Extensions]). It is pure: bytes in,
// decisions out. It opens no connection and no file and never asks the time, so
// the same input always gives the same answer.
//
// Retrieving and remembering robots.txt (2.3, 2.4) is package fetch's work,
// enforcing a decision is package proxy's.
//
// Everything that grants access has a zero value that refuses.
package policy
