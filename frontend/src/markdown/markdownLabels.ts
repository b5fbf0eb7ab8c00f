// The labels of the Markdown renderer, from our catalogue.
import type { StreamdownTranslations } from 'streamdown';
import type { Translate } from '../i18n';

export function markdownLabels(t: Translate): Partial<StreamdownTranslations> {
  return {
    close: t('common.close'),
    copied: t('common.copied'),
    copyCode: t('markdown.copyCode'),
    copyTable: t('markdown.copyTable'),
    copyTableAsCsv: t('markdown.copyCsv'),
    copyTableAsMarkdown: t('markdown.copyMarkdown'),
    copyTableAsTsv: t('markdown.copyTsv'),
    downloadTable: t('markdown.downloadTable'),
    downloadTableAsCsv: t('markdown.downloadCsv'),
    downloadTableAsMarkdown: t('markdown.downloadMarkdown'),
    imageNotAvailable: t('chat.picture'),
  };
}
