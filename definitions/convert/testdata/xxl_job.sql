-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE `xxl_job_group` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `app_name` varchar(64) NOT NULL COMMENT 'AppName (of the executor)',
  `title` varchar(12) NOT NULL,
  `address_type` tinyint(4) NOT NULL DEFAULT '0',
  `address_list` text,
  `update_time` datetime DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `xxl_job_group` VALUES (1,'orders-executor','Orders',1,'http://10.0.0.1:9999,http://10.0.0.2:9999','2026-01-01 00:00:00'),(2,'tools','Tools',0,NULL,NULL);
INSERT INTO `xxl_job_info` (`id`, `job_group`, `job_desc`, `add_time`, `update_time`, `author`, `alarm_email`, `schedule_type`, `schedule_conf`, `misfire_strategy`, `executor_route_strategy`, `executor_handler`, `executor_param`, `executor_block_strategy`, `executor_timeout`, `executor_fail_retry_count`, `glue_type`, `glue_source`, `glue_remark`, `glue_updatetime`, `child_jobid`, `trigger_status`, `trigger_last_time`, `trigger_next_time`) VALUES
(1, 1, 'Bills; of the day', '2026-01-01', '2026-01-01', 'XXL', 'ops@example.com', 'CRON', '0 0 3 * * ? *', 'DO_NOTHING', 'FIRST', 'billHandler', 'a\'b', 'SERIAL_EXECUTION', 60, 2, 'BEAN', '', 'init', '2026-01-01', '4', 1, 0, 0),
(2, 1, 'Shards', '2026-01-01', '2026-01-01', 'XXL', '', 'FIX_RATE', '300', 'FIRE_ONCE_NOW', 'SHARDING_BROADCAST', 'shardHandler', '', 'DISCARD_LATER', 0, 0, 'BEAN', '', '', NULL, '', 0, 0, 0);
INSERT INTO xxl_job.xxl_job_info VALUES
(3,2,'Shell','2026-01-01','2026-01-01','XXL',NULL,'FIX_RATE','7','DO_NOTHING','FAILOVER','','one two','COVER_EARLY',0,0,'GLUE_SHELL','#!/bin/bash\necho "it''s $1"\n','',NULL,NULL,1,0,0),
(4,9,'Java','2026-01-01','2026-01-01','XXL',NULL,'NONE','','DO_NOTHING','ROUND','billHandler','','SERIAL_EXECUTION',0,0,'GLUE_GROOVY','class X {}','',NULL,'',1,0,0);
