import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors.ts'
import { bulkView } from '../../views/bulk.ts'
import { consentView } from '../../views/consent.ts'
import { action, given } from '../action.ts'
import { instanceOf } from '../instance.ts'
import { one } from '../output.ts'
import { bulkCreate } from './bulk.ts'
import { acceptance, acceptanceFlags, acceptedOf, preferencesOf } from './fields.ts'

const Options = z.strictObject({
  ...acceptance,
  site: given.optional(),
  consentId: given.optional(),
  subject: given.optional(),
  policyVersion: z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .optional(),
  ipAddress: given.optional(),
  userAgent: z.string().optional(),
  file: given.optional(),
})

/** A file's lines have their results, one record is shown itself. */
const viewOf = ({ file }: z.output<typeof Options>) => (file === undefined ? consentView : bulkView)

/** `create`: one record from flags, or one for each line of a file. */
export function create(command: Command, ctx: Context): void {
  acceptanceFlags(command.option('--site <id>', 'the site the record belongs to'))
    .option('--consent-id <label>', 'your own label for it')
    .option('--subject <id>', 'whose consent it is')
    .option('--policy-version <n>', 'the version of the policy; the site’s current one if not given')
    .option('--ip-address <address>', 'the address it came from; never shown again')
    .option('--user-agent <text>', 'the browser it came from')
    .option('--file <path|->', 'create a record for each line of an NDJSON file, or of standard input')
    .addHelpText(
      'after',
      `
Without --accepted or --refused the record says "not accepted".

Examples:
  $ consentctl create --site 0190… --subject maria@example.com --accepted --pref marketing=true
  $ consentctl create --site 0190… --file consents.ndjson`,
    )
    .action(
      action(ctx, Options, viewOf, async (_, options) => {
        const { file, site = ctx.settings.site?.value, ...fields } = options
        if (file !== undefined) {
          if (Object.values(fields).some(value => value !== undefined)) {
            throw usageError(
              'with --file the fields come from its lines',
              'only --site may be given beside it',
            )
          }
          return bulkCreate(ctx, file, site)
        }
        if (!site) throw usageError('which site? name it with --site', 'or set CONSENTCTL_SITE')
        const body = {
          site_id: site,
          consent_id: fields.consentId,
          subject_id: fields.subject,
          accepted: acceptedOf(fields),
          preferences: await preferencesOf(ctx.io, fields),
          policy_version: fields.policyVersion,
          ip_address: fields.ipAddress,
          user_agent: fields.userAgent,
        }
        const record = await ctx.api.consents.create({ body })
        await ctx.say(`created 1 record on ${instanceOf(ctx)}`)
        return one(consentView, record, { mutates: true })
      }),
    )
}
