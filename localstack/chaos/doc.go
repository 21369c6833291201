// Package chaos holds a test that runs functions/payments as it is deployed, in several processes, while requests are lost, held, refused
// or answered wrongly and processes are killed or stopped. `make chaos` runs it; SEED repeats what a run has done.
//
// DynamoDB Local is real. Lambda's runtime API and the two queues are simulated in the test's own process, so that it knows of each
// delivery what became of it. A proxy between each process and DynamoDB Local makes the faults.
package chaos
