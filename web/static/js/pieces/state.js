// States, with the same colour, word and shape everywhere. Colour alone never carries a meaning.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'

const word = texts(
  {
    FINISHED: 'Finished', RUNNING: 'Running', LAUNCHING: 'Launching', WAITING: 'Waiting', ARMED: 'Armed', FAILED: 'Failed', TIMED_OUT: 'Timed out', LOST: 'Lost', KILLED: 'Killed',
    DISABLED: 'Disabled', APP_DISABLED: 'App disabled', PAUSED: 'Paused', SHUTTING_DOWN: 'Shutting down', READY: 'Ready', ON_TRIGGER: 'On trigger', NEVER: 'Never fires', FAULTY: 'Faulty', ENABLED: 'Enabled',
    REGISTERED: 'Registered', UNREACHABLE: 'Unreachable', AWAY: 'Away', DRAINING: 'Draining', CORDONED: 'Cordoned', CLOSED: 'Takes no tasks', STARTING: 'Starting', CLOSING: 'Closing', SUBSCRIBED: 'Subscribed', NOT_SUBSCRIBED: 'Not subscribed',
    STAGING: 'Staging', KILLING: 'Killing', ERROR: 'Error', DROPPED: 'Dropped', GONE: 'Gone', GONE_BY_OPERATOR: 'Gone by operator', UNKNOWN: 'Unknown',
  },
  {
    FINISHED: '已完成', RUNNING: '运行中', LAUNCHING: '启动中', WAITING: '等待中', ARMED: '待触发', FAILED: '失败', TIMED_OUT: '超时', LOST: '丢失', KILLED: '已终止',
    DISABLED: '已禁用', APP_DISABLED: '应用已禁用', PAUSED: '已暂停', SHUTTING_DOWN: '运行完后禁用', READY: '就绪', ON_TRIGGER: '手动触发', NEVER: '不再触发', FAULTY: '配置有误', ENABLED: '已启用',
    REGISTERED: '已注册', UNREACHABLE: '失联', AWAY: '离开', DRAINING: '排空中', CORDONED: '停止调度', CLOSED: '不接受任务', STARTING: '启动中', CLOSING: '关闭中', SUBSCRIBED: '已订阅', NOT_SUBSCRIBED: '未订阅',
    STAGING: '已下发', KILLING: '终止中', ERROR: '错误', DROPPED: '未送达', GONE: '已消失', GONE_BY_OPERATOR: '由运维移除', UNKNOWN: '未知',
  },
)

/** @type {Record<string, [style: string, mark: string]>} */
const looks = {
  FINISHED: ['finished', '●'], RUNNING: ['running', '◐'], LAUNCHING: ['running', '◔'], WAITING: ['waiting', '○'], ARMED: ['armed', '◇'],
  FAILED: ['failed', '✕'], TIMED_OUT: ['timedout', '⋈'], LOST: ['lost', '?'], KILLED: ['killed', '■'],
  DISABLED: ['off', '⊘'], APP_DISABLED: ['off', '⊘'], PAUSED: ['off', '‖'], SHUTTING_DOWN: ['off', '▽'], READY: ['off', '·'], ON_TRIGGER: ['off', '▹'], NEVER: ['off', '∅'], FAULTY: ['failed', '✕'],
  ENABLED: ['off', '·'], REGISTERED: ['finished', '●'], UNREACHABLE: ['failed', '✕'], AWAY: ['waiting', '○'], DRAINING: ['off', '▽'], CORDONED: ['off', '⊘'], CLOSED: ['off', '⊘'], STARTING: ['running', '◔'], CLOSING: ['off', '▽'], SUBSCRIBED: ['finished', '●'], NOT_SUBSCRIBED: ['failed', '✕'],
  STAGING: ['running', '◔'], KILLING: ['off', '▽'], ERROR: ['failed', '✕'], DROPPED: ['lost', '?'], GONE: ['lost', '?'], GONE_BY_OPERATOR: ['lost', '?'], UNKNOWN: ['lost', '?'],
}

/**
 * lookOf returns the style and the mark of a state. The CSS class is `s-` and the style. The TASK_ of a Mesos state is ignored.
 * @param {string} state
 */
export const lookOf = (state) => looks[state.replace(/^TASK_/, '')] ?? ['off', '·']

/**
 * stateWord returns the word for a state in the user's language.
 * @param {string} state
 */
export function stateWord(state) {
  const bare = state.replace(/^TASK_/, '')
  return bare in looks ? word(/** @type {any} */ (bare)) : state
}

/**
 * State shows a state. With `bare` it has no background. `count` follows the word.
 * @param {{of: string, bare?: boolean, count?: number, title?: string}} props
 */
export function State({ of, bare, count, title }) {
  const [style, mark] = lookOf(of)
  return html`<span class=${`state s-${style}${bare ? ' bare' : ''}`} title=${title}><span class="mark" aria-hidden="true">${mark}</span>${stateWord(of)}${count === undefined ? '' : ` ${count.toLocaleString()}`}</span>`
}
