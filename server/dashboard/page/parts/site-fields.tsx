import { Check, Field } from './form.tsx'
import type { SiteFields } from './site-settings.ts'

interface SiteFieldsProps {
  readonly fields: SiteFields
  readonly onFields: (fields: SiteFields) => void
}

export function SiteFieldInputs({ fields, onFields }: SiteFieldsProps) {
  const set = (change: Partial<SiteFields>) => onFields({ ...fields, ...change })
  return (
    <>
      <Field label="Name" name="name" value={fields.name} onValue={name => set({ name })} isRequired />
      <Field
        label="Policy version"
        name="policy_version"
        hint="Of new records. Those that exist keep theirs."
        value={fields.policyVersion}
        onValue={policyVersion => set({ policyVersion })}
      />
      <Field
        label="Allowed origins"
        name="allowed_origins"
        hint="One a line, such as https://shop.example: only their pages can record a consent from a browser."
        lines={4}
        value={fields.origins}
        onValue={origins => set({ origins })}
      />
      <Field
        label="Retention in days"
        name="retention_days"
        hint="Records that have not changed for this many days are deleted, and later purged. Empty: never."
        value={fields.retentionDays}
        onValue={retentionDays => set({ retentionDays })}
      />
      <Check
        label="Strict notices: reject a consent to a policy version without a published notice"
        isChecked={fields.isStrict}
        onValue={isStrict => set({ isStrict })}
      />
    </>
  )
}
