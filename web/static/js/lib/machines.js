// Which actions a machine has, and the requests that cordon and drain it.
import { seg } from './api.js'

/** @typedef {string | null} Time */
/** @typedef {{since: string, by: string, reason: string, until: Time, dead: Time, drain: Drain | null}} Cordon */
/** @typedef {import('./reasons.js').Answer} Answer */
/** @typedef {Answer & {executionId: string, jobName: string, item: number, taskId: string}} Left */
/** @typedef {{since: string, deadline: Time, drained: Time, left: Left[], leftTotal: number}} Drain */

/** @typedef {'cordon' | 'uncordon' | 'drain' | 'changeDrain' | 'dead'} MachineAct */

/**
 * machineActs returns the actions on a machine. One that was declared dead can only be uncordoned.
 * @param {Cordon | undefined} cordon
 * @returns {MachineAct[]}
 */
export function machineActs(cordon) {
  if (!cordon) return ['cordon', 'drain', 'dead']
  return cordon.dead ? ['uncordon'] : ['uncordon', cordon.drain ? 'changeDrain' : 'drain', 'dead']
}

/**
 * End is when a cordon ends or a drain stops the remaining tasks: in so many hours, 0 for never, or as before.
 * @typedef {number | 'kept'} End
 */

/**
 * CordonForm has the fields of the dialogs to cordon and to drain a machine.
 * @typedef {{reason: string, until: End, deadline: End}} CordonForm
 */

/**
 * cordonForm presets the fields with the machine's present cordon. The end of a cordon is kept only while the machine drains: otherwise
 * it would end the new drain, possibly within minutes if the server has cordoned the machine because it flaps.
 * @param {Cordon | undefined} cordon
 * @returns {CordonForm}
 */
export const cordonForm = (cordon) => ({
  reason: cordon?.reason ?? '', until: cordon?.drain && cordon.until ? 'kept' : 0, deadline: cordon?.drain?.deadline ? 'kept' : 0,
})

/**
 * cordonRequest returns the request that cordons or drains a machine. Each request replaces the reason, the end and the
 * deadline of the machine's present cordon. So it repeats those that are kept: a deadline as the rest of its time, and
 * one that has passed as the shortest that the server takes.
 * @param {string} host
 * @param {boolean} drains
 * @param {CordonForm} form
 * @param {Cordon | undefined} cordon
 * @param {number} now
 * @returns {import('./api.js').Request}
 */
export function cordonRequest(host, drains, { reason, until, deadline }, cordon, now) {
  /** @type {{reason: string, until?: string, deadlineSeconds?: number}} */
  const body = { reason }
  if (until === 'kept' && cordon?.until) body.until = cordon.until
  if (until !== 'kept' && until > 0) body.until = `${new Date(now + until * 3_600_000).toISOString().slice(0, 19)}Z`
  if (!drains) return { method: 'POST', path: `/api/agent/${seg(host)}/cordon`, body }
  if (deadline === 'kept' && cordon?.drain?.deadline) {
    body.deadlineSeconds = Math.max(1, Math.ceil((Date.parse(cordon.drain.deadline) - now) / 1000))
  }
  if (deadline !== 'kept' && deadline > 0) body.deadlineSeconds = deadline * 3600
  return { method: 'POST', path: `/api/agent/${seg(host)}/drain`, body }
}
