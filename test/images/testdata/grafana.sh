# Ends with an error where Grafana could not start: the password, the provisioning or the volume cannot be used.
set -eu
cat "$GF_SECURITY_ADMIN_PASSWORD__FILE" /etc/grafana/provisioning/*/*.yml /var/lib/grafana/dashboards/*.json >/dev/null
touch /var/lib/grafana/grafana.db
exec httpd -f -p 3000 -h /www
