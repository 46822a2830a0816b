use strict;
use warnings;
use LWP::UserAgent;
my $agent = LWP::UserAgent->new(env_proxy => 1, timeout => 20);
print $agent->get($_)->code, "\n" for @ARGV;
