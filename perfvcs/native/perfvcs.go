// Package perfvcs reports a program's own measurements to perfvcs. One file, for Go 1.16 and newer:
// copy it into a folder perfvcs of your module.
//
//	defer perfvcs.Measure("parse", float64(len(text)))() // or perfvcs.NoSize
//	perfvcs.Declare("throughput", "op/s", "higher")
//	perfvcs.Record("parse", perfvcs.NoSize, map[string]float64{"throughput": 1e6})
//
// Where the variable PERFVCS_SAMPLES is not set, nothing is written.
package perfvcs

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// NoSize says that a sample has no size.
const NoSize = -1.0

// Measure begins a measurement; the function that it returns ends it and reports wall and CPU time.
func Measure(uid string, size float64) func() {
	cpu, start := processor(), time.Now()
	return func() {
		wall := time.Since(start).Seconds()
		Record(uid, size, map[string]float64{"wall": wall, "cpu": processor() - cpu})
	}
}

// Record reports values that were measured in another way, by metric.
func Record(uid string, size float64, values map[string]float64) {
	fields := map[string]interface{}{"uid": uid}
	if size >= 0 {
		fields["size"] = size
	}
	for metric, value := range values {
		fields[metric] = value
	}
	write(fields)
}

// Declare says the unit of a metric, and which direction is better: lower, higher or none.
func Declare(metric, unit, better string) {
	write(map[string]interface{}{"metric": metric, "unit": unit, "better": better})
}

// processor is the time of this process on all processors, in seconds.
func processor() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// write appends a line by one write, so that those of several threads and processes do not mix.
func write(fields map[string]interface{}) {
	path := os.Getenv("PERFVCS_SAMPLES")
	if path == "" {
		return
	}
	line, err := json.Marshal(fields)
	if err == nil {
		err = appendTo(path, append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perfvcs.go: a sample is lost:", err)
	}
}

func appendTo(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
