# Loaded into programs of Perl that run under valgrind, which says of a script that is started by its own name that it is its own program.
# Perl asks for that ($^X), so that a script which starts others by it would start itself, again and again: it is what the first line names.
package perfvcs_interpreter;

if (open my $file, '<:raw', $^X) {
    read $file, my $head, 512;
    $^X = $1 if $head =~ /\A#![ \t]*([^ \t\r\n]+)/;
}

1;
