// Package oldversion tests that workers of an earlier commit and workers of this work tree share one table. .ci/old-version
// builds the program in the folder worker with both libraries and runs the tests.
package oldversion
