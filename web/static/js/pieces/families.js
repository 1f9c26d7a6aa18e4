// Families of properties that the scheduler or the executor reads: what a job runs instead of its app's script, and how users are
// notified.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { Check, Choice, NumberField, Text } from './field.js'

const t = texts(
  {
    command: 'Command', commandHelp: 'Run instead of the app’s script, in the package’s folder. Arguments are split as a shell splits words.', context: 'Sharding context as the last argument', contextHelp: 'JSON, as script jobs of ElasticJob-Cloud receive it. Turn it off for programs that do not expect it; it is always in their environment.',
    url: 'Address', urlHelp: 'http or https. The executor sends one request for each shard; 200 to 299 is success.', method: 'Method', data: 'Body', contentType: 'Type of the body', connect: 'Time to connect', read: 'Time between parts of the answer',
    host: 'SMTP server', port: 'Port', username: 'User', usernameHelp: 'Empty for servers that ask for none.', password: 'Password', passwordHelp: 'Never shown. ****** keeps it, while server, port and TLS stay the same.', from: 'From', to: 'To', several: 'Several addresses with commas.', cc: 'Cc', bcc: 'Bcc', subject: 'Subject', ssl: 'TLS',
    sslHelp: 'From the first byte, or by STARTTLS. Without it only if the server offers STARTTLS.', plainLogin: 'Send the password without TLS', plainLoginHelp: 'Only for servers without TLS: the password crosses the network in clear text.', trust: 'Hosts whose certificates are not checked', trustHelp: 'Or * for all.',
    webhook: 'Webhook', webhookHelp: 'The part after the host is never shown.', keyword: 'Keyword', keywordHelp: 'The text begins with it.', secret: 'Secret', secretHelp: 'Messages are signed with it. Never shown. ****** keeps it, while the address stays the same.', authorization: 'Authorization', authorizationHelp: 'The header of that name. Never shown.', template: 'Template of the body', templateHelp: 'For Slack, Teams, Feishu, PagerDuty: see “Templates” in docs/api.md. Empty: JSON with all fields.', ms: 'ms',
  },
  {
    command: '命令', commandHelp: '在应用包目录中代替应用的启动脚本运行，参数按 shell 的规则分词。', context: '分片上下文作为最后一个参数', contextHelp: 'JSON，与 ElasticJob-Cloud 的脚本作业相同。对不认识它的程序请关闭；环境变量中始终有它。',
    url: '地址', urlHelp: 'http 或 https。执行器为每个分片发送一个请求，200 至 299 为成功。', method: '方法', data: '请求体', contentType: '请求体类型', connect: '连接超时', read: '读取超时',
    host: 'SMTP 服务器', port: '端口', username: '用户名', usernameHelp: '服务器不需要时留空。', password: '密码', passwordHelp: '不向任何人显示。****** 表示保持不变，前提是服务器、端口和 TLS 不变。', from: '发件人', to: '收件人', several: '多个地址用逗号分隔。', cc: '抄送', bcc: '密送', subject: '主题', ssl: 'TLS',
    sslHelp: '从首字节起加密，或使用 STARTTLS。关闭后仅在服务器提供 STARTTLS 时加密。', plainLogin: '无 TLS 时也发送密码', plainLoginHelp: '仅用于不支持 TLS 的服务器：密码以明文经过网络。', trust: '不校验证书的主机', trustHelp: '* 表示全部。',
    webhook: 'Webhook', webhookHelp: '主机之后的部分不向任何人显示。', keyword: '关键词', keywordHelp: '消息以它开头。', secret: '密钥', secretHelp: '用于消息签名，不向任何人显示。****** 表示保持不变，前提是地址不变。', authorization: 'Authorization', authorizationHelp: '同名请求头，不向任何人显示。', template: '请求体模板', templateHelp: '用于飞书、Slack、Teams、PagerDuty，见 docs/api.md；留空则发送包含全部字段的 JSON。', ms: '毫秒',
  },
)

/** @param {string} prefix @param {number} [connect] @param {number} [read] */
const timeouts = (prefix, connect = 3000, read = 5000) => html`<${NumberField} name=${`${prefix}connectTimeoutMilliseconds`} label=${t('connect')} preset=${connect} unit=${t('ms')} /><${NumberField} name=${`${prefix}readTimeoutMilliseconds`} label=${t('read')} preset=${read} unit=${t('ms')} />`

/** @type {Record<string, () => any>} */
const fields = {
  'script.': () => html`<${Text} wide mono keep needed name="props.script.command.line" label=${t('command')} help=${t('commandHelp')} placeholder="bin/clean.sh --all" /><${Check} name="props.script.context.argument" label=${t('context')} help=${t('contextHelp')} preset />`,
  'http.': () => html`<${Text} wide mono keep needed name="props.http.url" label=${t('url')} help=${t('urlHelp')} placeholder="https://example.com/import" />
    <${Choice} needed name="props.http.method" label=${t('method')} options=${['', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'].map((m) => ({ value: m, label: m || '–' }))} />
    <${Text} name="props.http.content.type" label=${t('contentType')} preset="application/x-www-form-urlencoded" />
    <${Text} wide rows=${3} name="props.http.data" label=${t('data')} />
    <${NumberField} name="props.http.connect.timeout.milliseconds" label=${t('connect')} preset=${3000} unit=${t('ms')} /><${NumberField} name="props.http.read.timeout.milliseconds" label=${t('read')} preset=${5000} unit=${t('ms')} />`,
  'email.': () => html`<${Text} keep needed name="props.email.host" label=${t('host')} /><${NumberField} needed name="props.email.port" label=${t('port')} />
    <${Text} keep needed name="props.email.username" label=${t('username')} help=${t('usernameHelp')} /><${Text} keep type="password" needed name="props.email.password" label=${t('password')} help=${t('passwordHelp')} />
    <${Text} needed name="props.email.from" label=${t('from')} /><${Text} needed name="props.email.to" label=${t('to')} help=${t('several')} /><${Text} name="props.email.cc" label=${t('cc')} help=${t('several')} /><${Text} name="props.email.bcc" label=${t('bcc')} help=${t('several')} />
    <${Text} name="props.email.subject" label=${t('subject')} preset="ElasticJob error message" /><${Text} name="props.email.ssl.trust" label=${t('trust')} help=${t('trustHelp')} /><${Check} name="props.email.useSsl" label=${t('ssl')} help=${t('sslHelp')} preset /><${Check} name="props.email.allowPlaintextLogin" label=${t('plainLogin')} help=${t('plainLoginHelp')} />`,
  'wechat.': () => html`<${Text} wide mono needed name="props.wechat.webhook" label=${t('webhook')} help=${t('webhookHelp')} />${timeouts('props.wechat.')}`,
  'dingtalk.': () => html`<${Text} wide mono needed name="props.dingtalk.webhook" label=${t('webhook')} help=${t('webhookHelp')} /><${Text} name="props.dingtalk.keyword" label=${t('keyword')} help=${t('keywordHelp')} />
    <${Text} type="password" name="props.dingtalk.secret" label=${t('secret')} help=${t('secretHelp')} />${timeouts('props.dingtalk.')}`,
  'webhook.': () => html`<${Text} wide mono needed name="props.webhook.url" label=${t('webhook')} help=${t('webhookHelp')} /><${Text} type="password" name="props.webhook.secret" label=${t('secret')} help=${t('secretHelp')} /><${Text} type="password" name="props.webhook.authorization" label=${t('authorization')} help=${t('authorizationHelp')} /><${Text} wide mono rows=${4} name="props.webhook.template" label=${t('template')} help=${t('templateHelp')} placeholder='{"text":{{json .text}}}' />${timeouts('props.webhook.')}`,
}

/** @param {string} prefix @param {string} names */
const named = (prefix, names) => names.split(' ').map((n) => prefix + n)
const waits = 'connectTimeoutMilliseconds readTimeoutMilliseconds'
/** @type {Record<string, string[]>} */
const names = {
  'script.': named('script.', 'command.line context.argument'),
  'http.': named('http.', 'url method content.type data connect.timeout.milliseconds read.timeout.milliseconds'),
  'email.': named('email.', 'host port username password from to cc bcc subject ssl.trust useSsl allowPlaintextLogin'),
  'wechat.': named('wechat.', `webhook ${waits}`),
  'dingtalk.': named('dingtalk.', `webhook keyword secret ${waits}`),
  'webhook.': named('webhook.', `url secret authorization template ${waits}`),
}

/**
 * hasField reports whether a family has a field for a property.
 * @param {string} prefix
 * @param {string} property
 */
export const hasField = (prefix, property) => names[prefix]?.includes(property) ?? false

const byHandler = /** @type {Record<string, string>} */ ({ EMAIL: 'email.', WECHAT: 'wechat.', DINGTALK: 'dingtalk.', WEBHOOK: 'webhook.' })

/**
 * handlerFamily returns the prefix of the properties that an error handler reads, or '' if it reads none.
 * @param {string | undefined} handler
 */
export const handlerFamily = (handler) => byHandler[handler ?? ''] ?? ''

/**
 * runFamily returns the prefix of the properties that say what a job runs: script., http., or '' for its app's script.
 * @param {Record<string, any> | undefined} props
 */
export const runFamily = (props) => Object.keys(props ?? {}).map((k) => ['script.', 'http.'].find((p) => k.startsWith(p))).find(Boolean) ?? ''

/**
 * FamilyFields shows the fields of a family.
 * @param {{prefix: string}} props
 */
export const FamilyFields = ({ prefix }) => fields[prefix]?.() ?? null
