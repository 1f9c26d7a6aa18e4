// An editor for a document in JSON, with line numbers, and errors by line and column.
import { html, useId } from '../lib/html.js'
import { texts } from '../lib/texts.js'

const t = texts(
  {
    label: 'JSON', at: 'Line {line}, column {column}: {what}', end: 'the text ends too early', value: '{found} begins no value', name: 'a name in double quotes belongs here, not {found}', colon: 'a colon belongs here, not {found}',
    comma: 'a comma or a closing bracket belongs here, not {found}', string: 'this text has no end, or a sign in it that must be escaped', object: 'the document is one object in curly brackets; {found} does not belong here', twice: 'the name {found} stands here twice',
  },
  {
    label: 'JSON', at: '第 {line} 行第 {column} 列：{what}', end: '文本过早结束', value: '{found} 不是值的开头', name: '此处应为双引号括起的名称，而不是 {found}', colon: '此处应为冒号，而不是 {found}',
    comma: '此处应为逗号或右括号，而不是 {found}', string: '字符串没有结束，或含有必须转义的字符', object: '文档应为一个花括号对象，{found} 不应出现在此', twice: '名称 {found} 出现了两次',
  },
)

/**
 * jsonProblemText describes a problem in the user's language.
 * @param {import('../lib/json.js').JSONProblem} problem
 */
export const jsonProblemText = (problem) => t('at', { line: problem.line, column: problem.column, what: t(problem.what, { found: problem.found.trim() ? problem.found : '␣' }) })

/**
 * JSONEditor shows a text with line numbers; the line with the problem is marked.
 * @param {{text: string, problem?: import('../lib/json.js').JSONProblem, label?: string, readOnly?: boolean, onInput?: (text: string) => void}} props
 */
export function JSONEditor({ text, problem, label = t('label'), readOnly, onInput }) {
  const id = useId()
  const lines = text.split('\n')
  return html`<div class="json">
    <div class="json-box">
      <div class="json-lines" aria-hidden="true">${lines.map((_, i) => html`<span key=${i} class=${problem?.line === i + 1 ? 'wrong' : ''}>${i + 1}</span>`)}</div>
      <textarea aria-label=${label} aria-invalid=${problem ? 'true' : undefined} aria-describedby=${problem ? id : undefined} rows=${lines.length} wrap="off" spellcheck="false" autocomplete="off" readonly=${readOnly} value=${text}
        onInput=${(/** @type {any} */ e) => onInput?.(e.target.value)}></textarea>
    </div>
    ${problem && html`<p id=${id} class="error" role="alert">${jsonProblemText(problem)}</p>`}
  </div>`
}
