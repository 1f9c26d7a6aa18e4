// Words for codes in answers: what created a run, and which action a user took.
import { texts } from './texts.js'

const sources = texts(
  { NORMAL_TRIGGER: 'cron', TRIGGER: 'trigger', MISFIRE: 'misfire', DAEMON: 'daemon', CLOUD_SCHEDULER: 'scheduler', CLOUD_EXECUTOR: 'executor', READY: 'regular', FAILOVER: 'failover' },
  { NORMAL_TRIGGER: 'cron 触发', TRIGGER: '手动触发', MISFIRE: '错过任务重执行', DAEMON: '常驻', CLOUD_SCHEDULER: '调度器', CLOUD_EXECUTOR: '执行器', READY: '常规', FAILOVER: '失效转移' },
)

const acts = texts(
  {
    'app.register': 'App published', 'app.update': 'App changed', 'app.disable': 'App disabled', 'app.enable': 'App enabled', 'app.delete': 'App deleted',
    'job.register': 'Job registered', 'job.update': 'Job changed', 'job.disable': 'Job disabled', 'job.enable': 'Job enabled', 'job.delete': 'Job deleted', 'job.shutdown': 'Job shut down', 'job.pause': 'Job paused', 'job.resume': 'Job resumed', 'job.trigger': 'Job triggered',
    'execution.kill': 'Execution killed', 'task.kill': 'Shard killed', 'task.forget': 'Task confirmed as ended', 'cluster.reconcile': 'Reconciliation requested', 'machine.cordon': 'Machine cordoned', 'machine.uncordon': 'Machine uncordoned', 'machine.drain': 'Machine drained', 'machine.dead': 'Machine declared dead',
    'user.add': 'User added', 'user.update': 'Role changed', 'user.password': 'Password set', 'user.logout': 'Logins ended', 'user.remove': 'User removed', 'token.add': 'Token created', 'token.remove': 'Token removed',
  },
  {
    'app.register': '发布应用', 'app.update': '修改应用', 'app.disable': '禁用应用', 'app.enable': '启用应用', 'app.delete': '删除应用',
    'job.register': '注册作业', 'job.update': '修改作业', 'job.disable': '禁用作业', 'job.enable': '启用作业', 'job.delete': '删除作业', 'job.shutdown': '运行完后禁用', 'job.pause': '暂停作业', 'job.resume': '恢复作业', 'job.trigger': '触发作业',
    'execution.kill': '终止执行', 'task.kill': '终止分片', 'task.forget': '确认任务已结束', 'cluster.reconcile': '与集群对账', 'machine.cordon': '停止调度机器', 'machine.uncordon': '恢复调度机器', 'machine.drain': '排空机器', 'machine.dead': '宣布机器永久失效',
    'user.add': '添加用户', 'user.update': '修改角色', 'user.password': '设置密码', 'user.logout': '结束登录', 'user.remove': '移除用户', 'token.add': '创建令牌', 'token.remove': '移除令牌',
  },
)

/** sourceWord names what created an execution or a row of the history, or which kind of run it was. It returns unknown codes unchanged. */
export const sourceWord = (/** @type {string} */ code) => sources(/** @type {any} */ (code))

/** actionWord names an action by its code in the audit. It returns unknown codes unchanged. */
export const actionWord = (/** @type {string} */ code) => acts(/** @type {any} */ (code))
