// Package commands holds the verbs of Forklift: what a user, an editor or an
// agent can ask for, and nothing about how the question arrived.
//
// A verb is three things in one file: a Request struct, a Result struct and a
// function
//
//	func Capture(ctx context.Context, env Env, req CaptureRequest) (CaptureResult, error)
//
// [Verbs] lists all of them as typed descriptors. A front (the command line,
// the editors' server, an agents' server) walks that list: a [Verb] knows its
// name, its help, its [Field]s, how to decode a request from JSON and how to
// run it. The tags of the Request struct are the single source for flags,
// arguments and reference pages:
//
//	json:"wait,omitempty"   the key in a JSON request
//	flag:"wait"             a flag --wait
//	short:"m"               and its one-letter spelling
//	arg:"NAME"              an argument instead of a flag; "[NAME]" may be left out,
//	                        "[ARG...]" takes all that follow, "[-- ARG...]" all behind --
//	value:"DURATION"        what help calls the value of a flag
//	optional:"show"         what a flag means that is given without a value
//	default:"20"            the value when none is given
//	enum:"a,b"              the only values allowed
//	complete:"checkpoint"   what completes it, see [Complete]
//	help:"..."              one line for people
//
// A verb gets everything it needs from the outside in an [Env]: it never
// looks at the process's arguments, environment, terminal or clock. It fails
// with a *fault.Error; [FailureOf] turns any error into what a front sends.
//
// # Adding a verb
//
// Write commands/NAME.go with the three parts and a descriptor, add the
// descriptor to the list in verbs.go, write its renderer in
// commands/forklift, run the tests of both packages with -update and read
// the golden files that changed.
package commands
