//go:build !linux

package main

import "os/exec"

// asAnotherUser is needed where tests run as root, which is Linux.
func asAnotherUser(*exec.Cmd) {}
