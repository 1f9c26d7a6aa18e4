#!/bin/bash
# The entry point of the stand-in for the image mysql: at the first start it makes the database and its user, as the
# environment says.
set -euo pipefail
if [[ $(id -u) == 0 ]]; then
  chown -R mysql:mysql /var/lib/mysql /run/mysqld
  exec gosu mysql "$0" "$@"
fi
if [[ ! -d /var/lib/mysql/mysql ]]; then
  [[ $MYSQL_ROOT_HOST == localhost ]]
  password=$(<"$MYSQL_PASSWORD_FILE")
  mariadb-install-db --datadir=/var/lib/mysql --skip-test-db --auth-root-authentication-method=normal >/dev/null
  mariadbd --bootstrap <<SQL
FLUSH PRIVILEGES;
CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;
CREATE USER '$MYSQL_USER'@'%' IDENTIFIED BY '$password';
GRANT ALL ON \`$MYSQL_DATABASE\`.* TO '$MYSQL_USER'@'%';
DELETE FROM mysql.global_priv WHERE user='';
ALTER USER root@localhost IDENTIFIED BY '$(<"$MYSQL_ROOT_PASSWORD_FILE")';
SQL
fi
exec mariadbd --skip-name-resolve
