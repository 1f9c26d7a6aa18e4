// Reasons in the user's language. The server sends each reason in English, with its code and arguments. The Chinese words of the
// codes are those of internal/reason/zh.txt, and arguments are filled in as in internal/reason/words.go.
import { chinese } from './reasonwords.js'
import { language } from './store.js'

/** @typedef {{[name: string]: string | {code: string, args?: Args}}} Args */
/** @typedef {Record<string, any> | null | undefined} Answer */

export const reasonOf = (/** @type {Answer} */ of) => said(of?.reason, of?.reasonCode, of?.reasonArgs)
export const causeOf = (/** @type {Answer} */ of) => said(of?.failureCause, of?.failureCode, of?.failureArgs)
export const waitOf = (/** @type {Answer} */ of) => said(of?.waitingFor, of?.waitingForCode, of?.waitingForArgs)
export const startCauseOf = (/** @type {Answer} */ of) => said(of?.cause, of?.causeCode, of?.causeArgs)
export const messageOf = (/** @type {Answer} */ of) => said(of?.message, of?.messageCode, of?.messageArgs)
export const noteOf = (/** @type {Answer} */ of) => said(of?.note, of?.noteCode, of?.noteArgs)

/**
 * shortReasonOf returns the reason of a run for narrow places, as elasticjob run list does. If the process ended with an exit status
 * and wrote output, that is the shard and the last exception in the output, or else its last line. Otherwise it is the whole reason.
 * @param {Answer} of
 */
export function shortReasonOf(of) {
  const { cause, item, shards } = of?.reasonArgs ?? {}
  const text = of?.reasonCode === 'shards_failed' && cause?.code === 'text' && cause.args?.text
  const [, output] = (text && /^exit status \d+;(?:.*; |\s)end of std(?:err|out):\s([^]*)/.exec(text)) || []
  if (!output?.trim()) return reasonOf(of)
  const lines = output.trim().split('\n')
  const thrown = lines.map((/** @type {string} */ line) => exception.exec(line.trimEnd())?.[1]).findLast((/** @type {string | undefined} */ found) => found)
  return (shards === '1' ? '' : said(`item ${item}: `, 'of_item', { item, cause: { code: 'text', args: { text: '' } } })) + (thrown ?? lines[lines.length - 1].trim())
}

const exception = /^[\s|+]*(?:Caused by: |Exception in thread ".*?" |Uncaught )?(?:[\w$]+\.)*([\w$]*(?:Exception|Error|Throwable)(?:[: (].*)?)$/

/** @type {(of: Answer) => string[]} */
export const notesOf = (of) => (of?.notes ?? []).map((/** @type {string} */ note, /** @type {number} */ i) => said(note, of?.noteReasons?.[i]?.code, of?.noteReasons?.[i]?.args))

/**
 * @param {string} sentence
 * @param {string} code
 * @param {Args} args
 */
const said = (sentence = '', code, args) => (language.get() === 'zh' ? inWords(chinese, sentence, code, args) : sentence)

/**
 * inWords fills in the template of a code. It returns the sentence unchanged if the code, or a code in an argument, has no
 * template, or if the sentence is the job's own text.
 * @param {Record<string, string>} templates
 * @param {string} sentence
 * @param {string} [code]
 * @param {Args} [args]
 */
export const inWords = (templates, sentence, code, args) => (code && code !== 'text' ? (fill(templates, code, args) ?? sentence) : sentence)

/**
 * @param {Record<string, string>} templates
 * @param {string} code
 * @param {Args} [args]
 * @returns {string | undefined} undefined without a template
 */
function fill(templates, code, args = {}) {
  if (!Object.hasOwn(templates, code)) return undefined
  let known = true
  const section = (/** @type {string} */ template, /** @type {boolean} */ optional) => {
    let complete = true
    const text = template.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?(?:\?([^}]*))?\}/g, (_, name, one, many, otherwise) => {
      const value = Object.hasOwn(args, name) ? args[name] : undefined
      if (value === undefined) {
        complete &&= otherwise !== undefined
        return otherwise ?? ''
      }
      if (typeof value === 'string') return one === undefined ? value : (value === '1' ? one : many).replaceAll('#', () => value)
      const words = fill(templates, value.code, value.args)
      known &&= words !== undefined
      return words ?? ''
    })
    return optional && !complete ? '' : text
  }
  const text = templates[code].split(/\[([^\]]*)\]/).map((part, i) => section(part, i % 2 === 1)).join('')
  return known ? text : undefined
}

/**
 * orphanOf returns the task that may still run according to a reason to wait, and its agent; undefined for other reasons. An operator
 * who knows that the task has ended, or that the agent's machine is off, can confirm that. stuck means that the agent is there, but can't
 * end the task's processes.
 * @param {{reasonCode?: string, reasonArgs?: Args}} why
 * @returns {{task: string, agent: string, stuck: boolean} | undefined}
 */
export const orphanOf = ({ reasonCode, reasonArgs }) => orphanIn(reasonCode, reasonArgs)

/**
 * @param {string} [code]
 * @param {Args} [args]
 * @returns {{task: string, agent: string, stuck: boolean} | undefined}
 */
function orphanIn(code, args = {}) {
  if (code?.startsWith('orphan_') || code === 'exclusive_unreachable') {
    const { task, agent } = /** @type {any} */ (args)
    return { task, agent, stuck: code === 'orphan_unkilled' }
  }
  for (const value of Object.values(args)) {
    const found = typeof value === 'string' ? undefined : orphanIn(value.code, value.args)
    if (found) return found
  }
  return undefined
}
