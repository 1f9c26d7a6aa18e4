// Package images builds the images of the Dockerfile and runs docker-compose.yml with podman, as docs/install.md
// says, so that both are tried on machines without a Docker engine.
//
// The images that the two files name are replaced by stand-ins (testdata/Dockerfile), made of packages of Debian
// and of the Mesos that MESOS_HOME names. Everything runs in namespaces of its own and in one temporary folder, so
// that nothing is left on the machine: when the test ends, or is killed, the kernel ends the processes and removes
// the mounts and networks.
//
// What this does not try: Docker itself, Compose 2, and the images of MySQL, Grafana and Alpine. BuildKit reads the
// Dockerfile in a test of tools/dist.
package images
