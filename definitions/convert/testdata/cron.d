SHELL=/bin/sh
# Rotates what has grown.
17 * * * *	root	cd / && run-parts --report /etc/cron.hourly
25 6 * * *	www-data	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
@weekly	root	/usr/bin/find /var/tmp -mtime +7 -delete
* * * * * root
