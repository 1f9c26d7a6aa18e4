import { html, useState } from '../lib/html.js'
import { curlLine } from '../lib/curl.js'
import { texts } from '../lib/texts.js'

const t = texts({ copy: 'Copy', copied: 'Copied' }, { copy: '复制', copied: '已复制' })

/**
 * Copy is a button that copies a text.
 * @param {{text: string, label?: string}} props
 */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await copyText(text)
    setDone(true)
    setTimeout(() => setDone(false), 2000)
  }
  return html`<button type="button" class="button small" onClick=${copy}>${done ? t('copied') : (label ?? t('copy'))}</button>`
}

/**
 * copyText copies a text to the clipboard. It also works without a secure context, such as over http from another machine.
 * @param {string} text
 */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/**
 * Curl shows the shell commands for some requests.
 * @param {{requests: import('../lib/api.js').Request[]}} props
 */
export function Curl({ requests }) {
  const lines = requests.map((r) => curlLine(r)).join('\n')
  return html`<div class="curl"><pre tabindex="0">${lines}</pre><${Copy} text=${lines} /></div>`
}
