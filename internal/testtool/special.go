package testtool

// Special has an address of each class that is not dialled by default, and the
// one CIDR that allows it.
var Special = []struct{ Class, Addr, CIDR string }{
	{"private", "10.0.0.1", "10.0.0.0/8"}, {"private", "172.16.0.1", "172.16.0.0/12"}, {"private", "192.168.0.1", "192.168.0.0/16"},
	{"unique local", "fd00::1", "fc00::/7"},
	{"loopback", "127.0.0.2", "127.0.0.0/8"}, {"loopback", "::1", "::1/128"},
	{"link-local", "169.254.1.1", "169.254.0.0/16"}, {"link-local", "fe80::1", "fe80::/10"},
	{"metadata", "169.254.169.254", "169.254.169.254/32"}, {"metadata", "fd00:ec2::254", "fd00:ec2::254/128"},
	{"metadata", "168.63.129.16", "168.63.129.16/32"}, {"metadata", "100.100.100.200", "100.100.100.200/32"},
	{"CGNAT", "100.64.0.1", "100.64.0.0/10"},
	{"benchmarking", "198.18.0.1", "198.18.0.0/15"},
	{"documentation", "192.0.2.1", "192.0.2.0/24"}, {"documentation", "2001:db8::1", "2001:db8::/32"},
	{"multicast", "224.0.0.1", "224.0.0.0/4"}, {"multicast", "ff02::1", "ff00::/8"},
	{"unspecified", "0.0.0.0", "0.0.0.0/32"}, {"unspecified", "::", "::/128"},
	{"mapped", "::ffff:127.0.0.2", "127.0.0.0/8"},
	{"compatible", "::808:808", "::/96"},
	{"NAT64", "64:ff9b::808:808", "64:ff9b::/96"},
	{"6to4", "2002:808:808::1", "2002::/16"},
	{"Teredo", "2001::f7f7:f7f7", "2001::/32"},
}
