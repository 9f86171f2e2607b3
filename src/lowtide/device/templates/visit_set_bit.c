        if ((code[j >> 3] >> (j & 7)) & 1) add(&at, scores, 1);
        else at += COLUMNS;