// One operation, whose details are folded.
import { html, useState } from '../lib/html.js'
import { curlLine } from '../lib/curl.js'
import { texts } from '../lib/texts.js'
import { Copy } from '../pieces/curl.js'
import { boundsOf, requestOf } from './description.js'
import { Type } from './schema.js'

const t = texts(
  {
    who: 'Who may use it: {rule}.', takes: 'Parameters', name: 'Name', type: 'Type', about: 'Description', needed: 'required', body: 'Body', optional: 'optional', answers: 'Answers', errors: 'Errors', shell: 'In a shell', example: 'Example', copyCurl: 'Copy the line',
    token: 'Without a session, add -H "Authorization: Bearer $TOKEN".',
  },
  {
    who: '可使用者：{rule}。', takes: '参数', name: '名称', type: '类型', about: '说明', needed: '必填', body: '请求体', optional: '可省略', answers: '响应', errors: '错误', shell: '命令行', example: '示例', copyCurl: '复制命令',
    token: '没有会话时，请加上 -H "Authorization: Bearer $TOKEN"。',
  },
)

/** @param {any} value */
const shown = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/**
 * Operation shows an operation. Its details are drawn when it is opened.
 * @param {{of: import('./description.js').Operation, opened: boolean}} props
 */
export function Operation({ of, opened }) {
  const [open, setOpen] = useState(opened)
  return html`<details id=${of.id} class="docs-operation" open=${open} onToggle=${(/** @type {any} */ e) => setOpen(e.target.open)}>
    <summary><span class=${`docs-method ${of.method.toLowerCase()}`}>${of.method}</span><code class="docs-path">${of.path}</code><span class="docs-summary">${of.summary}</span></summary>
    ${open && html`<${Details} of=${of} />`}
  </details>`
}

/** @param {{of: import('./description.js').Operation}} props */
function Details({ of }) {
  const good = of.answers.filter((a) => Number(a.status) < 400)
  const bad = of.answers.filter((a) => Number(a.status) >= 400)
  const line = curlLine(requestOf(of))
  return html`<div class="docs-details">
    <p class="muted">${t('who', { rule: of.rule })}</p>
    ${of.parameters.length > 0 && html`<h3>${t('takes')}</h3><div class="docs-table"><table>
      <thead><tr><th scope="col">${t('name')}</th><th scope="col">${t('type')}</th><th scope="col">${t('about')}</th></tr></thead>
      <tbody>${of.parameters.map((p) => html`<tr key=${p.in + p.name}>
        <td><code>${p.name}</code> <span class="muted small">${p.in}${p.required ? `, ${t('needed')}` : ''}</span></td><td><${Type} of=${p.schema} /></td>
        <td>${p.description} ${p.schema.description ?? ''} <span class="muted">${boundsOf(p.schema)}</span></td></tr>`)}</tbody>
    </table></div>`}
    ${Object.entries(of.body).map(([media, content], i) => html`<div key=${media}>
      ${i === 0 && html`<h3>${t('body')}${!of.bodyRequired && html` <span class="muted small">${t('optional')}</span>`}</h3>`}
      <p><code>${media}</code>: <${Type} of=${content.schema} /></p><${Example} value=${content.example} />
    </div>`)}
    <h3>${t('answers')}</h3>
    ${good.map((a) => html`<div key=${a.status}>
      <p><strong>${a.status}</strong> ${a.description}</p>
      ${Object.entries(a.headers).map(([name, h]) => html`<p key=${name} class="small"><code>${name}</code>: ${h.description}</p>`)}
      ${Object.entries(a.content).map(([media, content]) => html`<div key=${media}><p><code>${media}</code>: <${Type} of=${content.schema} /></p><${Example} value=${content.example} /></div>`)}
    </div>`)}
    <h3>${t('errors')}</h3>
    <ul class="docs-errors">${bad.map((a) => html`<li key=${a.status}><strong>${a.status}</strong> ${a.description}</li>`)}</ul>
    <h3>${t('shell')}</h3>
    <div class="curl"><pre tabindex="0">${line}</pre><${Copy} text=${line} label=${t('copyCurl')} /></div>
  </div>`
}

/** @param {{value: any}} props */
function Example({ value }) {
  if (value === undefined) return null
  return html`<details class="docs-example"><summary>${t('example')}</summary><pre tabindex="0">${shown(value)}</pre></details>`
}
