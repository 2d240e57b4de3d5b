package Perfvcs;

# A program under test reports its own measurements to perfvcs. One file, for Perl 5.14 and newer.
#
#     use lib "bench"; use Perfvcs;
#     my $tree = Perfvcs::measure("parse", sub { parse($text) }, length $text);    # or without a size
#     Perfvcs::declare("throughput", "op/s", "higher");
#     Perfvcs::record("parse", { throughput => 1e6 }, length $text);
#
# Where the variable PERFVCS_SAMPLES is not set, nothing is written.

use strict;
use warnings;
use Fcntl qw(O_APPEND O_CREAT O_WRONLY);
use JSON::PP ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

my $json = JSON::PP->new->utf8->canonical;

# Calls a function, reports its wall and CPU time in seconds, and returns what it returns.
sub measure {
    my ($uid, $work, $size) = @_;
    my $cpu    = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
    my $start  = clock_gettime(CLOCK_MONOTONIC);
    my @result = wantarray ? $work->() : scalar $work->();
    my $wall   = clock_gettime(CLOCK_MONOTONIC) - $start;
    record($uid, { wall => $wall, cpu => clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $cpu }, $size);
    return wantarray ? @result : $result[0];
}

# Reports values that were measured in another way, by metric.
sub record {
    my ($uid, $values, $size) = @_;
    my %fields = map { $_ => $values->{$_} + 0 } keys %$values;
    $fields{size} = $size + 0 if defined $size;
    if (grep { $_ != $_ || abs($_) == 9**9**9 } values %fields) {
        warn "Perfvcs.pm: a sample is lost: a value is not finite\n";
        return;
    }
    append({ %fields, uid => "$uid" });
}

# Says the unit of a metric, and which direction is better: lower, higher or none.
sub declare {
    my ($metric, $unit, $better) = @_;
    append({ metric => $metric, unit => $unit, better => $better || "lower" });
}

# Appends a line by one write, so that those of several processes do not mix.
sub append {
    my ($fields) = @_;
    my $path = $ENV{PERFVCS_SAMPLES};
    return if !defined $path || $path eq "";
    my $line = $json->encode($fields) . "\n";
    my $file;
    my $done = sysopen($file, $path, O_WRONLY | O_APPEND | O_CREAT, 0644)
        && (syswrite($file, $line) || 0) == length $line;
    warn "Perfvcs.pm: a sample is lost: $!\n" if !$done;
}

1;
