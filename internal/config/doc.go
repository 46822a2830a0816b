// Package config reads heed's settings: built-in defaults, then the file, then
// HEED_ variables of the environment, then flags, the later winning key by key.
//
// Every layer is checked by itself before viper merges them. viper alone reads
// "30" as 30 nanoseconds, lets MODE win over mode, takes a dotted key for a
// nested one and overlooks empty variables; so the file is walked as a YAML
// node tree first, and the text of variables and flags is read by the same
// rules. Then one validation judges the merged result. All faults are reported
// together, each with its key, its value, where it came from and what would be
// allowed.
//
// The package changes nothing and opens nothing but the file: whether a folder
// or a certificate exists is found out by whoever uses it.
package config
