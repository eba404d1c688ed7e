package failpoint

// Watch lets f see the hits until the returned function is called.
func Watch(f func(op, path string)) func() {
	was := hit
	hit = f
	return func() { hit = was }
}
