# sh workloads/inside.sh WORKLOAD [PATH]... -- COMMAND...: run a command in the repository that a workload names, without what an earlier
# execution left at these paths. It becomes the command, so that all it adds is the start of a shell.
set -eu
IFS= read -r folder <"$1"
cd "$folder"
shift
while [ "$1" != -- ]; do
    rm -rf "$1"
    shift
done
shift
exec "$@"
